package live

import (
	"context"
	"errors"
	"runtime/debug"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
)

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
type backlog struct {
	store  *store.Store
	rules  projections.Rules
	rows   store.RowsID                   // of the rows in memory
	state  *projections.State             // as the tables are when the last folded batch is written
	asked  map[tables.NameKind]tables.Set // the names by which rows were looked up
	size   int                            // how many names asked has
	result chan error                     // of the batch that is being written

	licensed []string // users whose pro payments the next batch may need; see complete
}

const (
	usualBacklogRows = 500_000 // the rows of about 100,000 events
	rowMemory        = 256     // about what a row or a name takes
)

// backlogRows is the limit for the rows and names in memory: usualBacklogRows, or as many as fit a quarter of GOMEMLIMIT
// if those are less.
func backlogRows() int { return int(min(usualBacklogRows, debug.SetMemoryLimit(-1)/4/rowMemory)) }

// errStale means that the rows in memory are no longer those of the tables. Nothing was
// written.
var errStale = errors.New("the tables were replaced since their rows were loaded")

// newBacklog returns a backlog without rows. The tables must be at one position in all
// partitions.
func newBacklog(ctx context.Context, s *store.Store, rules projections.Rules) (*backlog, error) {
	rows, err := store.ReadRowsID(ctx, s.Pool(), s.Schema())
	return &backlog{
		store: s, rules: rules, rows: rows, state: projections.NewState(), asked: map[tables.NameKind]tables.Set{}, result: make(chan error, 1),
	}, err
}

// full reports whether the rows in memory have reached their limit. Then they are dropped, and the rows of returning
// customers are read again.
func (b *backlog) full() bool { return b.state.Size()+b.size > backlogRows() }

// foldedBatch is a batch that is folded and not written yet.
type foldedBatch struct {
	messages []message
	writes   *pgx.Batch
	result   Result
	began    time.Time // when its write began
}

func (b *foldedBatch) last() message { return b.messages[len(b.messages)-1] }

// fold folds the events of these messages. It may run while the batch before is written. The error
// may be a store.RefusedError. After any error the backlog must not be used.
func (b *backlog) fold(ctx context.Context, messages []message) (*foldedBatch, error) {
	batch := decoded(messages)
	if err := b.load(ctx, batch); err != nil {
		return nil, err
	}
	if err := b.rules.FoldAll(b.state, slices.Values(batch)); err != nil {
		return nil, store.AsRefused(err)
	}
	folded := &foldedBatch{messages: messages, writes: &pgx.Batch{}, result: resultOf(b.state)}
	b.store.QueueChanges(folded.writes, b.state)
	b.noteLicensed()
	b.state.Settle()
	return folded, nil
}

// write begins to write a folded batch. The batch before must be committed. The result comes
// through b.result: nil, errStale, store.ErrFenced, store.ErrFoldID, or an error of the database.
func (b *backlog) write(ctx context.Context, folded *foldedBatch, advance store.Advance) {
	go func() {
		ctx, cancel := context.WithTimeout(ctx, applyTimeout)
		defer cancel()
		b.result <- store.AsRefused(transact(ctx, b.store, b.rules, advance, func(_ pgx.Tx, rows store.RowsID) (*pgx.Batch, error) {
			if rows != b.rows {
				return nil, errStale
			}
			return folded.writes, nil
		}))
	}()
}

// canRepeat reports whether Apply can apply a batch that the backlog could not write.
func canRepeat(err error) bool {
	var refused *store.RefusedError
	return errors.As(err, &refused) || errors.Is(err, errStale) || store.IsConflict(err)
}
