package eventlog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
	"unicode/utf8"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats.go"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/eventlog/accounts"
	"github.com/payfold/payfold/internal/eventlog/blockstore"
	"github.com/payfold/payfold/internal/eventlog/wire"
	"github.com/payfold/payfold/internal/events"
)

func logFolder(dataDir string) string { return filepath.Join(dataDir, "log") }

func lockFile(dataDir string) string { return filepath.Join(dataDir, "log.lock") }

// Files gives access to the files of the embedded log, without a server.
type Files struct {
	store   *blockstore.Store
	lock    *flock.Flock // nil if an ingest is running, or there is no lock file
	running bool
}

// OpenFiles opens the files of the log in a data directory and changes nothing. Until Close no
// ingest can start there; one that is already running continues. A copy of a log that no ingest has
// opened has no lock file, and an ingest can start there.
func OpenFiles(dataDir, stream string) (*Files, error) {
	if _, err := os.Stat(logFolder(dataDir)); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no log in DATA_DIR %s", dataDir)
	} else if err != nil {
		return nil, err
	}
	lock := flock.New(lockFile(dataDir), flock.SetFlag(os.O_RDONLY))
	held, err := lock.TryRLock()
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // a copy has no lock file
		return nil, fmt.Errorf("lock the log: %w", err)
	}
	f := &Files{store: blockstore.New(logFolder(dataDir), accounts.Writer, stream), running: err == nil && !held}
	if held {
		f.lock = lock
	}
	return f, nil
}

// Running reports whether an ingest has the log open.
func (f *Files) Running() bool { return f.running }

// Check reads every record, as ingest does when it starts. While an ingest is running, it checks
// only the records up to the durable watermark.
func (f *Files) Check(ctx context.Context, progress func(done, blocks int)) (*blockstore.Report, error) {
	return f.store.Check(ctx, f.running, progress)
}

// Source returns, as an archive.Source, the part of the log that is whole according to report. It
// does not need a server.
func (f *Files) Source(report *blockstore.Report) archive.Source {
	return fileSource{f, report}
}

type fileSource struct {
	files  *Files
	report *blockstore.Report
}

// Head implements archive.Source.
func (s fileSource) Head(context.Context) (archive.Head, error) {
	head := archive.Head{LogID: s.report.LogID, Partitions: s.report.Partitions, Begin: s.report.Begin, First: s.report.First, Last: s.report.Last, Bytes: uint64(s.report.Bytes)}
	if !s.files.running {
		return head, nil
	}
	watermark, err := s.files.store.Watermark()
	if err == nil && watermark != nil && watermark.LogID == head.LogID {
		head.First, head.Last = max(head.First, watermark.First), max(head.Last, watermark.Seq)
	}
	return head, err
}

// ReadRecords implements archive.Source.
func (s fileSource) ReadRecords(ctx context.Context, from, until uint64, deliver func(archive.Record) error) error {
	return readBlocks(ctx, s.files.store, from, until, func(m events.Message, h wire.Header) error { return deliverRecord(m, h, deliver) })
}

// Salvaged is one undamaged message. The log around it may be damaged.
type Salvaged struct {
	Seq      uint64            `json:"seq"`
	StoredAt time.Time         `json:"stored_at"`
	Subject  string            `json:"subject"`
	Headers  map[string]string `json:"headers,omitempty"`
	Body     string            `json:"body,omitempty"`
	Bytes    []byte            `json:"body_base64,omitempty"` // instead of Body, if that is not valid UTF-8
}

// Data returns the message's body, byte for byte.
func (s Salvaged) Data() []byte {
	if len(s.Bytes) > 0 {
		return s.Bytes
	}
	return []byte(s.Body)
}

// Salvage delivers every undamaged message, in the order of the files.
func (f *Files) Salvage(ctx context.Context, deliver func(Salvaged) error) error {
	return f.store.Salvage(ctx, func(r blockstore.Record) error {
		out := Salvaged{Seq: r.Seq, StoredAt: time.Unix(0, r.Stored).UTC(), Subject: string(r.Subject)}
		if utf8.Valid(r.Body) {
			out.Body = string(r.Body)
		} else {
			out.Bytes = append([]byte(nil), r.Body...)
		}
		if header, err := nats.DecodeHeadersMsg(r.Header); err == nil {
			out.Headers = make(map[string]string, len(header))
			for key := range header {
				out.Headers[key] = header.Get(key)
			}
		}
		return deliver(out)
	})
}

// Close releases the log: an ingest can start again.
func (f *Files) Close() error {
	if f.lock == nil {
		return nil
	}
	return f.lock.Unlock()
}
