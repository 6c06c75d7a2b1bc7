package live

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/identity"
)

// LostLogTimeout is lostLogTimeout.
const LostLogTimeout = lostLogTimeout

// The steps of Apply, for a test that stops between them.
var (
	Begin = begin
	Fold  = fold
)

// Tx is the transaction of Postgres.
func (t *transaction) Tx() pgx.Tx { return t.tx }

// Commit is commit.
func (t *transaction) Commit(ctx context.Context, last *pgx.Batch) error { return t.commit(ctx, last) }

// End is end.
func (t *transaction) End(ctx context.Context) { t.end(ctx) }

// HeartbeatOnce is heartbeat.
func (p *Projector) HeartbeatOnce(ctx context.Context, partitions int) (share, surplus []int, err error) {
	return p.heartbeat(ctx, partitions)
}

// Follower applies batches as a projector does.
type Follower struct {
	*follower
	TraceParents map[uint64]string // of deliveries, by sequence
}

// Follower returns a follower of some partitions of a log whose partitions are all at one position.
func (p *Projector) Follower(logID string, partitions int, at uint64, share ...int) *Follower {
	positions := make(identity.Positions, partitions)
	for partition := range positions {
		positions[partition] = at
	}
	return &Follower{follower: newFollower(p, logID, share, positions)}
}

// Receive takes a message of the log. It blocks while BatchSize messages wait.
func (f *Follower) Receive(ctx context.Context, m events.Message) error { return f.receive(ctx, m, "") }

// Step applies the received messages that fit into one batch, and moves all positions.
func (f *Follower) Step(ctx context.Context) error {
	f.advancedAll = time.Time{}
	select {
	case m := <-f.messages:
		return f.applyNext(ctx, f.collect(m))
	default:
		return f.idle(ctx)
	}
}

// Idle commits the last batch of a backlog, and does what is due when no more messages wait.
func (f *Follower) Idle(ctx context.Context) error {
	if f.writing != nil {
		if err := f.endWrite(ctx, <-f.written); err != nil {
			return err
		}
	}
	return f.idle(ctx)
}

// NoneWaits reports whether no received message counts as waiting any more.
func (f *Follower) NoneWaits() bool { return f.budget.TryAcquire(maxPendingBytes) }

// ApplyBacklog applies a batch while more messages wait. The batch is committed when the
// next call of any method returns.
func (f *Follower) ApplyBacklog(ctx context.Context, batch ...events.Message) error {
	return f.take(ctx, batch, f.applyNext)
}

// ApplyLast applies a batch while no more messages wait, commits it, and moves all positions.
func (f *Follower) ApplyLast(ctx context.Context, batch ...events.Message) error {
	return f.take(ctx, batch, func(ctx context.Context, batch []message) error {
		if err := f.endBacklog(ctx); err != nil {
			return err
		}
		f.advancedAll = time.Time{}
		return f.applyBatch(ctx, batch)
	})
}

func (f *Follower) take(ctx context.Context, batch []events.Message, apply func(context.Context, []message) error) error {
	var received []message
	for _, m := range batch {
		if err := f.budget.Acquire(ctx, int64(len(m.Body))); err != nil {
			return err
		}
		received = append(received, f.projector.traced(m, f.TraceParents[m.Seq]))
	}
	return apply(ctx, received)
}

// End commits the last batch and drops the rows in memory.
func (f *Follower) End(ctx context.Context) error { return f.endBacklog(ctx) }

// InMemory reports whether rows are kept in memory for the next batch.
func (f *Follower) InMemory() bool { return f.backlog != nil }
