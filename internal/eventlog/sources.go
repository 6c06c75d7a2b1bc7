package eventlog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/archive/storage"
	"github.com/payfold/payfold/internal/backoff"
	"github.com/payfold/payfold/internal/eventlog/blockstore"
	"github.com/payfold/payfold/internal/eventlog/wire"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/fingerprint"
)

// reading is one read. Its methods need a context from whileConnected. A read that has an end takes from the archive
// what the archive has, up to its first fault, and the rest from the server, which has the end of the log:
//
//	from                                             until
//	 ├── archive ──┤ end, damaged, missing              │
//	               ├────────────── server ──────────────┤
//
// It reads the server's files instead, if they are on this machine, when no archive can be used or many messages are
// needed. The server has nothing before info.ServerFirst.
type reading struct {
	*Log
	info    Info
	next    uint64 // the sequence of the next message to deliver
	deliver deliverFunc
	failed  error // the error of deliver
}

// take delivers the next message.
func (r *reading) take(m events.Message, h wire.Header) error {
	r.next = m.Seq + 1
	r.failed = r.deliver(m, h)
	return r.failed
}

// run delivers the messages up to until.
func (r *reading) run(ctx context.Context, until uint64) error {
	for {
		err := r.fromBoth(ctx, until)
		if !errors.Is(err, errTrimmed) || r.failed != nil {
			return err
		}
		if r.info, err = r.Info(ctx); err != nil {
			return r.whyFailed(ctx, err)
		}
	}
}

func (r *reading) fromBoth(ctx context.Context, until uint64) error {
	a, fault := r.openArchive(ctx, until)
	if ctx.Err() != nil {
		return whyEnded(ctx)
	}
	if fault != nil {
		r.archive.warn(ctx, fault, r.next)
		return r.fromServer(ctx, until, fault, true)
	}
	fault = r.fromArchive(ctx, a, until)
	switch {
	case r.failed != nil:
		return r.failed
	case ctx.Err() != nil:
		return whyEnded(ctx)
	case fault != nil:
		r.archive.warn(ctx, fault, r.next)
	}
	return r.fromServer(ctx, until, fault, until >= r.next+minBacklog)
}

// openArchive returns the archive for messages up to until. The error is errNoArchive, or why the
// archive cannot be used.
func (r *reading) openArchive(ctx context.Context, until uint64) (*archive.Archive, error) {
	if r.archive == nil {
		return nil, errNoArchive
	}
	opened, err := r.archive.refreshed(ctx, r.info.LogID, until)
	if err == nil {
		err = r.agrees(ctx, opened)
	}
	return opened, err
}

// agrees returns an error unless the archive belongs to the log: the newest archived message that
// the server still has must be the same on the server. If the archive's copy is damaged, an older
// message counts.
func (r *reading) agrees(ctx context.Context, a *archive.Archive) error {
	if err := a.Contradiction(); err != nil {
		return err
	}
	if a.Partitions() != r.info.Partitions {
		return fmt.Errorf("the archive has %d partitions, and the log has %d", a.Partitions(), r.info.Partitions)
	}
	_, err := a.SameNewest(ctx, r.info.ServerFirst, r.info.Last, func(seq uint64) (fingerprint.Hash, error) {
		m, err := r.message(ctx, seq)
		return fingerprint.Leaf(m), err
	})
	return err
}

// fromArchive delivers what the archive has from next on. It returns nil if the archive ends there.
func (r *reading) fromArchive(ctx context.Context, a *archive.Archive, until uint64) error {
	return a.Read(ctx, r.next, min(until, a.Last()), func(record archive.Record) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return r.take(record.Message(), wire.Header{Archived: record.Header})
	})
}

// fromServer delivers the messages from next to until, from the server's files if files is true. fault says why the
// archive does not deliver them; it may be nil.
func (r *reading) fromServer(ctx context.Context, until uint64, fault error, files bool) error {
	if r.next > until {
		return nil
	}
	if lost := min(until+1, r.info.ServerFirst); r.next < lost {
		if _, to := archive.Extent(fault); to >= r.next { // the archive has what follows
			lost = min(lost, to+1)
		}
		if fault == nil {
			fault = errors.New("they are not archived")
		}
		return fmt.Errorf("seq %d to %d cannot be read: the log's server has only those from seq %d on, and the archive does not help: %w",
			r.next, lost-1, r.info.ServerFirst, fault)
	}
	var unreadable error
	if files {
		unreadable = r.fromFiles(ctx, until)
		if !errors.Is(unreadable, blockstore.ErrUnexpectedLayout) {
			return unreadable
		}
		if ctx.Err() != nil {
			return whyEnded(ctx)
		}
	}
	err := r.fromConnection(ctx, until)
	if errors.Is(err, nats.ErrTimeout) {
		err = fmt.Errorf("the server does not deliver the message at seq %d: %w", r.next, errors.Join(err, unreadable))
	}
	return err
}

// fromConnection delivers the messages from next to until as the server sends them.
func (r *reading) fromConnection(ctx context.Context, until uint64) error {
	receiving, stop := context.WithCancel(ctx)
	defer stop()
	err := r.receive(receiving, r.next, func(m events.Message, h wire.Header) error {
		if m.Seq == until {
			stop() // receive returns after this message
		}
		return r.take(m, h)
	}, jetstream.NextMaxWait(messageTimeout))
	if err == nil && ctx.Err() != nil {
		return whyEnded(ctx)
	}
	return err
}

// fromFiles delivers the messages from next to until from the server's files. It first makes sure that the files are
// those of the server: the server's log has no gap, and the message at until is the same in both. It can fail with
// blockstore.ErrUnexpectedLayout after any message.
func (r *reading) fromFiles(ctx context.Context, until uint64) error {
	if r.files == nil {
		return fmt.Errorf("%w: they are not on this machine", blockstore.ErrUnexpectedLayout)
	}
	if r.next < r.info.ServerFirst || r.info.Messages != r.info.Last-r.info.ServerFirst+1 {
		return fmt.Errorf("%w: the server has removed messages", blockstore.ErrUnexpectedLayout)
	}
	want, err := r.message(ctx, until)
	if err != nil {
		return fmt.Errorf("%w: %w", blockstore.ErrUnexpectedLayout, err)
	}
	if _, err := r.confirm(ctx, until); err != nil {
		if ctx.Err() != nil {
			return whyEnded(ctx)
		}
		return fmt.Errorf("%w: %w", ErrDisconnected, err)
	}
	err = readBlocks(ctx, r.files, until, until, func(m events.Message, _ wire.Header) error {
		if m.ID != want.ID || !m.StoredAt.Equal(want.StoredAt) || !bytes.Equal(m.Body, want.Body) {
			return fmt.Errorf("%w: they belong to another log", blockstore.ErrUnexpectedLayout)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return readBlocks(ctx, r.files, r.next, until, r.take)
}

// messageTimeout is how long a server may take to deliver a message that it claims to have.
const messageTimeout = 30 * time.Second

// readBlocks reads the messages from sequence from to until in the server's files. It can
// fail with blockstore.ErrUnexpectedLayout after any message.
func readBlocks(ctx context.Context, store *blockstore.Store, from, until uint64, deliver deliverFunc) error {
	return store.Read(from, until, func(r blockstore.Record) error {
		if ctx.Err() != nil {
			return whyEnded(ctx)
		}
		m, err := wire.FromFile(r.Seq, string(r.Subject), r.Header, r.Body, time.Unix(0, r.Stored))
		if err != nil {
			return fmt.Errorf("%w: %w", blockstore.ErrUnexpectedLayout, err)
		}
		return deliver(m, wire.Header{Plain: r.Header})
	})
}

// archiveTimeout bounds one answer of the archive's store. It is enough for the 4 MB that are read
// at once on a line of 1 Mbit/s.
const archiveTimeout = 35 * time.Second

// archived is the archive of the log, for all readers of one Log. It is opened when it is needed.
type archived struct {
	place  storage.Place
	logger *slog.Logger

	mu     sync.Mutex
	opened *archive.Archive // the archive of the log that was last asked for; nil before
	fault  backoff.Fault    // the last one that was logged
}

func newArchived(place storage.Place, logger *slog.Logger) *archived {
	if place == nil {
		return nil
	}
	return &archived{place: storage.Bounded(place, archiveTimeout), logger: logger}
}

// errNoArchive means that this process has no archive configured, or that the archive has nothing
// of the log yet.
var errNoArchive = errors.New("there is no archive of this log")

// refreshed returns the archive of a log. It looks for new segments if the known ones do not have
// the message at until, or are damaged. Known segments stay known after an error.
func (a *archived) refreshed(ctx context.Context, logID string, until uint64) (*archive.Archive, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var err error
	switch {
	case a.opened == nil || a.opened.LogID() != logID:
		a.opened, err = archive.Open(ctx, a.place, logID)
	case a.opened.Last() < until || len(a.opened.Faults()) > 0:
		err = a.opened.Refresh(ctx)
	}
	if err == nil && a.opened.Last() == 0 {
		if err = archive.RequireAlone(ctx, a.place, logID); err == nil {
			err = errNoArchive
		}
	}
	return a.opened.Clone(), err
}

// warn logs that the log's server is read instead of the archive. It does not repeat the same
// warning.
func (a *archived) warn(ctx context.Context, err error, seq uint64) {
	if a == nil || errors.Is(err, errNoArchive) {
		return
	}
	a.mu.Lock()
	isNew := a.fault.IsNew(err)
	a.mu.Unlock()
	if isNew {
		a.logger.WarnContext(ctx, "the archive cannot be read; the log's server is asked instead", "archive", a.place.String(), "from_seq", seq, "error", err)
	}
}
