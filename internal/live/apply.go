package live

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
)

// maxConflicts bounds the tries of one batch that conflicts with other projectors. Chance conflicts
// need far fewer tries, and a conflict that never ends is noticed soon.
const maxConflicts = 20

// postgres is the batches of a store.
type postgres struct{ store *store.Store }

func (p postgres) apply(ctx context.Context, rules projections.Rules, batch []events.Event, advance store.Advance) (Result, error) {
	return Apply(ctx, p.store, rules, batch, advance)
}

// Apply folds the events, which are in the order of the log, and moves the checkpoints, in one
// transaction. Out-of-order events of the live tables are recorded. After a conflict with another projector it tries
// again on the rows that the other one has committed. The error may be store.ErrFenced, store.ErrFoldID, or a
// store.RefusedError if the database would refuse the same rows again.
func Apply(
	ctx context.Context, s *store.Store, rules projections.Rules, batch []events.Event, advance store.Advance,
) (Result, error) {
	for attempt := 1; ; attempt++ {
		result, err := applyOnce(ctx, s, rules, batch, advance)
		if store.IsConflict(err) && attempt < maxConflicts {
			continue
		}
		return result, store.AsRefused(err)
	}
}

func applyOnce(
	ctx context.Context, s *store.Store, rules projections.Rules, batch []events.Event, advance store.Advance,
) (Result, error) {
	t, err := begin(ctx, s, rules, advance)
	if err != nil {
		return Result{}, err
	}
	defer t.end(ctx)
	writes, result, err := loadAndFold(ctx, s, t.tx, rules, batch)
	if err != nil {
		return Result{}, err
	}
	if err := t.commit(ctx, writes); err != nil {
		return Result{}, err
	}
	return *result, nil
}

// Result is what a committed batch did.
type Result struct {
	Events     []projections.ProcessedEvent
	Duplicates int
	OutOfOrder int // out-of-order events that were recorded
}

// loadAndFold returns the statements that write what the events change. The result is complete when they have been sent.
func loadAndFold(
	ctx context.Context, s *store.Store, tx pgx.Tx, rules projections.Rules, batch []events.Event,
) (writes *pgx.Batch, result *Result, err error) {
	batch, err = withoutKnownMarks(ctx, tx, batch)
	if err != nil {
		return nil, nil, err
	}
	if len(batch) == 0 {
		return &pgx.Batch{}, &Result{}, nil
	}
	state, err := tables.Load(ctx, tx, s.Schema(), rules, batch)
	if err != nil {
		return nil, nil, err
	}
	return fold(s, rules, state, batch)
}

// withoutKnownMarks returns the events without the marks (events.Lost) of messages that the tables have. The tables can
// have a lost message although the checkpoint of its mark's partition is before it: the checkpoint of an idle partition
// moves only now and then. A backlog never has such a mark, because all its partitions are at one position.
func withoutKnownMarks(ctx context.Context, tx pgx.Tx, batch []events.Event) ([]events.Event, error) {
	var marks []uint64
	for i := range batch {
		if batch[i].Type == events.LostType {
			marks = append(marks, batch[i].Seq)
		}
	}
	if len(marks) == 0 {
		return batch, nil
	}
	known, err := store.Applied(ctx, tx, marks)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(batch), func(e events.Event) bool { return slices.Contains(known, e.Seq) }), nil
}

// fold is loadAndFold of events whose rows the state has.
func fold(
	s *store.Store, rules projections.Rules, state *projections.State, batch []events.Event,
) (writes *pgx.Batch, result *Result, err error) {
	if err := rules.FoldAll(state, slices.Values(batch)); err != nil {
		return nil, nil, err
	}
	writes, result = &pgx.Batch{}, resultOf(state)
	isLive := s.Schema() == store.LiveSchema
	if isLive { // a candidate lacks the indexes that this needs
		store.RecordOutOfOrder(writes, state, &result.OutOfOrder)
	}
	tables.QueueChanges(writes, state)
	if isLive {
		store.QueueNotifications(writes, state)
	}
	return writes, result, nil
}

// resultOf returns what a fold has done, except for the out-of-order events.
func resultOf(state *projections.State) *Result {
	return &Result{Events: state.Events.Inserted(), Duplicates: len(state.Duplicates)}
}

// transaction writes a batch and moves its checkpoints. begin begins it, and then end must be called. Without a commit
// that returns nil, nothing is committed, unless the connection was lost.
//
// Each round trip delays the rows of a delivery. So "begin" is sent with the first statements, and
// "commit" with the last ones. Postgres does not execute "commit" after a statement has failed.
type transaction struct {
	connection *pgxpool.Conn
	tx         pgx.Tx
	rows       store.RowsID // of the rows that the tables have
	committed  bool
}

// begin moves the checkpoints in a new transaction. They come first, so that a second projector on a partition waits
// before it reads a row. The error may be store.ErrFenced or store.ErrFoldID.
func begin(ctx context.Context, s *store.Store, rules projections.Rules, advance store.Advance) (*transaction, error) {
	connection, err := s.Pool().Acquire(ctx)
	if err != nil {
		return nil, err
	}
	t, first, moved := &transaction{connection: connection}, &pgx.Batch{}, false
	first.BeginTx(pgx.TxOptions{})
	if s.Schema() == store.LiveSchema {
		store.WaitForPromotion(first)
	}
	first.Queue(tables.PreferIndexes)
	t.rows.Queue(first, s.Schema())
	advance.Queue(first, &moved)
	sent := connection.SendBatch(ctx, first)
	t.tx = sent.Tx()
	switch err = sent.Close(); {
	case err != nil:
		err = fmt.Errorf("move the checkpoints: %w", err)
	case t.rows.FoldID != rules.FoldID():
		err = store.ErrFoldID
	case !moved:
		err = store.ErrFenced
	}
	if err != nil {
		t.end(ctx)
		return nil, err
	}
	return t, nil
}

// commit sends the last statements and commits. The error is a store.CommitError if Postgres could not commit.
func (t *transaction) commit(ctx context.Context, last *pgx.Batch) error {
	last.Queue("commit").Fn = answerOfCommit
	if err := t.tx.SendBatch(ctx, last).Close(); err != nil {
		return fmt.Errorf("write the rows: %w", err)
	}
	t.committed = true
	return nil
}

func answerOfCommit(answers pgx.BatchResults) error {
	answer, err := answers.Exec()
	switch {
	case err != nil:
		return &store.CommitError{Cause: err}
	case answer.String() != "COMMIT":
		return fmt.Errorf("%w: Postgres answered %q", pgx.ErrTxCommitRollback, answer)
	}
	return nil
}

// end rolls back, unless the transaction is committed, and gives its connection back.
func (t *transaction) end(ctx context.Context) {
	if !t.committed {
		_ = t.tx.Rollback(ctx) // if it fails, pgx closes the connection
	}
	t.connection.Release()
}
