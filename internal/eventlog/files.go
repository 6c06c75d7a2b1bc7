package eventlog

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/payfold/payfold/internal/eventlog/blockstore"
	"github.com/payfold/payfold/internal/eventlog/wire"
	"github.com/payfold/payfold/internal/events"
)

func logFolder(dataDir string) string { return filepath.Join(dataDir, "log") }
func lockFile(dataDir string) string  { return filepath.Join(dataDir, "log.lock") }

// readBlocks reads the messages from sequence from to until in the server's files. It can
// fail with blockstore.ErrUnexpectedLayout after any message.
func readBlocks(ctx context.Context, store *blockstore.Store, from, until uint64, deliver func(events.Message, wire.Header) error) error {
	return store.Read(from, until, func(r blockstore.Record) error {
		if ctx.Err() != nil {
			return whyEnded(ctx)
		}
		m, err := wire.Parse(r.Seq, string(r.Subject), r.Header, r.Body, time.Unix(0, r.Stored))
		if err != nil {
			return fmt.Errorf("%w: %w", blockstore.ErrUnexpectedLayout, err)
		}
		return deliver(m, wire.Header{Plain: r.Header})
	})
}
