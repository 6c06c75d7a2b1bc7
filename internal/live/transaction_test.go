package live_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/live"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv/fixture"
	"github.com/payfold/payfold/internal/testenv/wait"
)

func TestATransactionThatFailsCommitsNothingAndKeepsItsConnection(t *testing.T) {
	t.Parallel()
	const write, fails = "insert into duplicate_event (event_id, stream_seq) values ('e1', 1)", "select 1/0"
	errWork := errors.New("the events cannot be folded")
	batchOf := func(statements ...string) *pgx.Batch {
		batch := &pgx.Batch{}
		for _, sql := range statements {
			batch.Queue(sql)
		}
		return batch
	}
	for name, fault := range map[string]struct {
		from uint64 // where the checkpoint is expected
		work func(tx pgx.Tx) (*pgx.Batch, error)
		says string
	}{
		"the checkpoint is elsewhere": {
			from: 7, work: func(pgx.Tx) (*pgx.Batch, error) { return batchOf(write), nil },
			says: store.ErrFenced.Error(),
		},
		"the work fails": {
			work: func(pgx.Tx) (*pgx.Batch, error) { return nil, errWork },
			says: errWork.Error(),
		},
		"a statement before the commit fails": {
			work: func(pgx.Tx) (*pgx.Batch, error) { return batchOf(write, fails), nil },
			says: "division by zero",
		},
		"the work hides that a statement has failed": {
			work: func(tx pgx.Tx) (*pgx.Batch, error) {
				_, err := tx.Exec(t.Context(), fails)
				require.Error(t, err)
				return batchOf(), nil
			},
			says: pgx.ErrTxCommitRollback.Error(),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, s := fixture.Tables(t)
			advance := func(from uint64) store.Advance {
				return store.Advance{LogID: "log-1", From: fixture.From(0, from), To: 9}
			}
			require.Zero(t, fixture.Number(ctx, t, s, "select position from checkpoint where partition = 0"))
			var sessions []uint32
			transact := func(from uint64, work func(tx pgx.Tx) (*pgx.Batch, error)) error {
				transaction, err := live.Begin(ctx, s, fixture.AnyMode, advance(from))
				if err != nil {
					return err
				}
				defer transaction.End(ctx)
				sessions = append(sessions, transaction.Tx().Conn().PgConn().PID())
				last, err := work(transaction.Tx())
				if err != nil {
					return err
				}
				return transaction.Commit(ctx, last)
			}
			err := transact(fault.from, fault.work)
			require.ErrorContains(t, err, fault.says)
			require.Zero(t, fixture.Number(ctx, t, s, "select count(*) from duplicate_event"))
			require.Zero(t, s.Pool().Stat().AcquiredConns())

			require.NoError(t, transact(0, func(pgx.Tx) (*pgx.Batch, error) { return batchOf(write), nil }))
			require.EqualValues(t, 1, fixture.Number(ctx, t, s, "select count(*) from duplicate_event"))
			require.EqualValues(t, 9, fixture.Number(ctx, t, s, "select position from checkpoint where partition = 0"))
			require.Len(t, slices.Compact(sessions), 1, "the same connection is used again")
		})
	}
}

func TestATransactionOfABrokenConnectionLeavesNoneBehind(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	transaction, err := live.Begin(ctx, s, fixture.AnyMode, store.Advance{LogID: "log-1", From: fixture.From(0, 0), To: 9})
	require.NoError(t, err)
	last := &pgx.Batch{}
	last.Queue("select pg_terminate_backend(pg_backend_pid())")
	err = transaction.Commit(ctx, last)
	require.True(t, store.ConnectionLost(err), err)
	transaction.End(ctx)
	wait.Until(t, func() bool { return s.Pool().Stat().AcquiredConns() == 0 }) // the pool closes it in the background
	require.Zero(t, fixture.Number(ctx, t, s, "select position from checkpoint where partition = 0"))
}

// It waits for a promotion without a limit.
func TestATransactionWaitsForARowNoLongerThanItsSessionMay(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	var limit string
	transaction, err := live.Begin(ctx, s, fixture.AnyMode, store.Advance{LogID: "log-1", From: fixture.From(0, 0), To: 1})
	require.NoError(t, err)
	defer transaction.End(ctx)
	require.NoError(t, transaction.Tx().QueryRow(ctx, "show lock_timeout").Scan(&limit))
	require.Equal(t, "30s", limit, "half of the time of a lease")
}
