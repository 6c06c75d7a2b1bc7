package live

import (
	"context"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/store"
)

// members is what a projector needs of the database to share the partitions with others.
type members interface {
	heartbeat(ctx context.Context) (Membership, error)
	takeLeases(ctx context.Context, partitions []int) (taken []int, err error)
	releaseLeases(ctx context.Context, partitions []int) error
	leave(ctx context.Context) error
}

// liveTables is what a projector needs of the database to fold into the live tables.
type liveTables interface {
	Prepare(ctx context.Context, logID string, partitions int, rules projections.Rules) error
	CurrentTables(ctx context.Context, rules projections.Rules) (store.TablesID, error)
	Checkpoints(ctx context.Context) ([]store.Checkpoint, error)
	Waiting(ctx context.Context) (store.Waiting, error)
}

// applier applies a batch in one transaction; see Apply.
type applier func(context.Context, projections.Rules, []events.Event, store.Advance) (Result, error)

// postgres is the members and the applier of a store.
type postgres struct{ store *store.Store }

func (p postgres) heartbeat(ctx context.Context) (Membership, error) { return Heartbeat(ctx, p.store) }

func (p postgres) takeLeases(ctx context.Context, partitions []int) ([]int, error) {
	return TakeLeases(ctx, p.store, partitions)
}

func (p postgres) releaseLeases(ctx context.Context, partitions []int) error {
	return releaseLeases(ctx, p.store, partitions)
}

func (p postgres) leave(ctx context.Context) error { return leave(ctx, p.store) }

func (p postgres) apply(ctx context.Context, rules projections.Rules, batch []events.Event, advance store.Advance) (Result, error) {
	return Apply(ctx, p.store, rules, batch, advance)
}
