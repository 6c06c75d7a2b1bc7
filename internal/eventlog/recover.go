package eventlog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/payfold/payfold/internal/eventlog/blockstore"
)

// recoverFiles checks the whole log before a server opens it, because the server would
// silently truncate a block at its first damaged record.
func recoverFiles(ctx context.Context, store *blockstore.Store, config EmbeddedConfig) (*blockstore.Syncer, error) {
	syncer, err := store.Recover(ctx, config.Progress)
	if err != nil {
		return nil, err
	}
	if config.SyncBlock != nil {
		syncer.SyncBlock = config.SyncBlock
	}
	found := syncer.Recovered
	if tail := found.TornTail; tail != nil {
		config.Logger.Warn("a kill or a power cut interrupted the last write to the log; nothing in it was confirmed, and the provider delivers it again",
			"file", tail.File, "offset", tail.Offset, "bytes", tail.Bytes, "newer_files", tail.Newer, "last_seq", found.Last)
	}
	return syncer, nil
}

// verifyOpened returns an error if the server does not serve exactly what recoverFiles found.
func (l *Log) verifyOpened(want *blockstore.Report) error {
	if want.LogID == "" {
		return nil // no stream yet
	}
	ctx, cancel := context.WithTimeout(context.Background(), openTimeout)
	defer cancel()
	stream, err := l.js.Stream(ctx, l.name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("the server does not open the log of stream %s although it is undamaged; see the server's warnings above", l.name)
	}
	if err != nil {
		return fmt.Errorf("ask the server what it has opened: %w", err)
	}
	have := stream.CachedInfo()
	if have.State.Msgs != want.Events || have.State.LastSeq != want.Last || have.Config.Metadata[blockstore.MetaLogID] != want.LogID ||
		want.Events > 0 && have.State.FirstSeq != want.First {
		return fmt.Errorf("the server has opened %d messages, seq %d to %d, of log %s, but the files hold %d, seq %d to %d, of log %s; "+
			"stop ingest and compare with: ingest check", have.State.Msgs, have.State.FirstSeq, have.State.LastSeq, have.Config.Metadata[blockstore.MetaLogID],
			want.Events, want.First, want.Last, want.LogID)
	}
	return nil
}

// openTimeout bounds the first answer of a server that has just opened the log.
const openTimeout = 30 * time.Second
