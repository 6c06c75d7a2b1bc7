package live

import (
	"context"
	"errors"
	"maps"
	"runtime/debug"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
)

// isBacklog reports whether the batch is so large that more messages probably wait.
func (f *follower) isBacklog(batch []message) bool {
	const share = 8 // of a full batch
	return share*len(batch) > f.projector.BatchSize
}

// mayUseBacklog reports whether batches may be applied through a backlog: this projector has all
// partitions, at one position.
func (f *follower) mayUseBacklog() bool {
	for _, position := range f.at {
		if position != f.delivered {
			return false
		}
	}
	return len(f.at) == len(f.mine)
}

// applyBacklog folds a batch while Postgres writes the batch before, and then starts to write it.
func (f *follower) applyBacklog(ctx context.Context, batch []message) error {
	if f.backlog != nil && f.backlog.full() {
		if err := f.endBacklog(ctx); err != nil {
			return err
		}
	}
	loading, cancel := context.WithTimeout(ctx, applyTimeout)
	defer cancel()
	if f.backlog == nil {
		begun, err := f.projector.batches.beginBacklog(loading, f.projector.Rules)
		if err != nil {
			return err
		}
		f.backlog = begun
	}
	folded, foldErr := f.backlog.fold(loading, batch)
	if f.writing != nil {
		if err := f.endWrite(ctx, <-f.written); err != nil {
			return err
		}
		if f.backlog == nil { // the batch was folded on rows that the tables do not have
			return f.applyNext(ctx, batch)
		}
	}
	switch {
	case foldErr == nil:
		f.startWrite(ctx, folded)
		return nil
	case canRepeat(foldErr):
		f.backlog = nil
		return f.applyBatch(ctx, batch)
	}
	return foldErr
}

func (f *follower) startWrite(ctx context.Context, folded *foldedBatch) {
	folded.began = time.Now()
	f.writing = folded
	last, rows := folded.last(), f.backlog
	advance := store.Advance{LogID: f.logID, From: maps.Clone(f.at), To: last.Seq, Digest: last.Digest()}
	go func() {
		ctx, cancel := context.WithTimeout(ctx, applyTimeout)
		defer cancel()
		f.written <- rows.write(ctx, folded, advance)
	}()
}

// endWrite handles the result of a write. If the batch was not written and Apply can apply it, endWrite drops the
// backlog and applies the batch.
func (f *follower) endWrite(ctx context.Context, err error) error {
	folded := f.writing
	f.writing = nil
	switch {
	case canRepeat(err):
		f.backlog = nil
		return f.applyBatch(ctx, folded.messages)
	case err != nil:
		return err
	}
	last := folded.last()
	for partition := range f.at {
		f.at[partition] = last.Seq
	}
	f.delivered, f.digest, f.advancedAll = last.Seq, last.Digest(), folded.began
	f.projector.observe(ctx, folded.result, folded.began, last.Seq)
	f.projector.trace(folded.messages, folded.result, folded.began)
	f.release(folded.messages)
	return nil
}

// endBacklog waits for the batch that is being written and drops the rows in memory.
func (f *follower) endBacklog(ctx context.Context) error {
	if f.writing != nil {
		if err := f.endWrite(ctx, <-f.written); err != nil {
			return err
		}
	}
	f.backlog = nil
	return nil
}

// awaitWrite waits until nothing is written any more.
func (f *follower) awaitWrite() {
	if f.writing != nil {
		<-f.written
	}
}

// backlog applies batches in the order of the log, as Apply does. But it loads and folds the next
// batch while Postgres writes one. The rows that a batch has loaded or changed stay in memory for the
// next ones.
//
// That is safe only while no other process changes the tables. So every batch moves the checkpoints
// of all partitions from one position to the next, in its transaction. If another projector has
// written, a checkpoint is at another position, and the batch is fenced. A promotion or settle
// changes rows and no checkpoint; then the RowsID differs, and the batch is stale. In both cases
// nothing was written, and the rows in memory are dropped.
//
// It is not safe for concurrent use.
type backlog interface {
	// full reports whether the rows in memory have reached their limit. Then they are dropped, and the rows of returning
	// customers are read again.
	full() bool

	// fold folds the events of these messages. It may run while the batch before is written. The error may be a
	// store.RefusedError. After any error the backlog must not be used.
	fold(ctx context.Context, messages []message) (*foldedBatch, error)

	// write writes the rows of a batch and moves the checkpoints, in one transaction. The batch before must be committed.
	// The error may be errStale, store.ErrFenced, store.ErrFoldID or a store.RefusedError.
	write(ctx context.Context, folded *foldedBatch, advance store.Advance) error
}

// foldedBatch is a batch that is folded and not written yet.
type foldedBatch struct {
	messages []message
	writes   *pgx.Batch
	result   Result
	began    time.Time // when its write began
}

func (b *foldedBatch) last() message { return b.messages[len(b.messages)-1] }

// errStale means that the rows in memory are no longer those of the tables. Nothing was
// written.
var errStale = errors.New("the tables were replaced since their rows were loaded")

// canRepeat reports whether Apply can apply a batch that the backlog could not write.
func canRepeat(err error) bool {
	var refused *store.RefusedError
	return errors.As(err, &refused) || errors.Is(err, errStale) || store.IsConflict(err)
}

// postgresBacklog is the backlog of real tables.
type postgresBacklog struct {
	store *store.Store
	rules projections.Rules
	rows  store.RowsID                   // of the rows in memory
	state *projections.State             // as the tables are when the last folded batch is written
	asked map[tables.NameKind]tables.Set // the names by which rows were looked up
	size  int                            // how many names asked has

	licensed []string // users whose pro payments the next batch may need; see complete
}

const (
	usualBacklogRows = 500_000 // the rows of about 100,000 events
	rowMemory        = 256     // about what a row or a name takes
)

// backlogRows is the limit for the rows and names in memory: usualBacklogRows, or as many as fit a quarter of GOMEMLIMIT
// if those are less.
func backlogRows() int { return int(min(usualBacklogRows, debug.SetMemoryLimit(-1)/4/rowMemory)) }

func (p postgres) beginBacklog(ctx context.Context, rules projections.Rules) (backlog, error) {
	rows, err := store.ReadRowsID(ctx, p.store.Pool(), p.store.Schema())
	return &postgresBacklog{
		store: p.store, rules: rules, rows: rows, state: projections.NewState(), asked: map[tables.NameKind]tables.Set{},
	}, err
}

func (b *postgresBacklog) full() bool { return b.state.Size()+b.size > backlogRows() }

func (b *postgresBacklog) fold(ctx context.Context, messages []message) (*foldedBatch, error) {
	batch := decoded(messages)
	if err := b.load(ctx, batch); err != nil {
		return nil, err
	}
	if err := b.rules.FoldAll(b.state, slices.Values(batch)); err != nil {
		return nil, store.AsRefused(err)
	}
	writes, result := &pgx.Batch{}, *resultOf(b.state)
	tables.QueueChanges(writes, b.state)
	store.QueueNotifications(writes, b.state)
	b.noteLicensed()
	b.state.Settle()
	return &foldedBatch{messages: messages, writes: writes, result: result}, nil
}

func (b *postgresBacklog) write(ctx context.Context, folded *foldedBatch, advance store.Advance) error {
	t, err := begin(ctx, b.store, b.rules, advance)
	if err != nil {
		return store.AsRefused(err)
	}
	defer t.end(ctx)
	if t.rows != b.rows {
		return errStale
	}
	return store.AsRefused(t.commit(ctx, folded.writes))
}

// load adds the rows that these events can touch and that are not in memory. A name is looked up once: afterwards all of
// its rows are in memory, because no other process adds any.
func (b *postgresBacklog) load(ctx context.Context, batch []events.Event) error {
	return pgx.BeginFunc(ctx, b.store.Pool(), func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, tables.PreferIndexes); err != nil {
			return err
		}
		l := tables.Loader{Schema: b.store.Schema(), Rules: b.rules, State: b.state, Filter: b.fresh, Licensed: b.licensed}
		b.licensed = nil
		return l.Add(ctx, tx, batch)
	})
}

// noteLicensed notes the users whose licence can depend on all of their pro payments, because of a row that the last
// batch has made.
func (b *postgresBacklog) noteLicensed() {
	for p := range b.state.Payments.Changed() {
		if p.Kind == projections.KindPro && p.UserID != "" {
			b.licensed = append(b.licensed, p.UserID)
		}
	}
	for l := range b.state.Licenses.Changed() {
		if !l.RevokedAt.IsZero() {
			b.licensed = append(b.licensed, l.UserID)
		}
	}
}

// fresh returns the names that were not asked for before, and notes them.
func (b *postgresBacklog) fresh(kind tables.NameKind, names []string) (fresh []string) {
	if kind == tables.OfEvent { // all that were asked for are folded
		return slices.DeleteFunc(names, b.state.Events.Has)
	}
	asked := b.asked[kind]
	if asked == nil {
		asked = tables.Set{}
		b.asked[kind] = asked
	}
	before := len(asked)
	for _, name := range names {
		if _, again := asked[name]; !again {
			asked[name] = struct{}{}
			fresh = append(fresh, name)
		}
	}
	b.size += len(asked) - before
	return fresh
}
