package verify

import (
	"cmp"
	"context"
	"fmt"

	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/identity"
	"github.com/payfold/payfold/internal/rebuild"
	"github.com/payfold/payfold/internal/store"
)

// beside folds the log into a schema of its own, up to the positions of a snapshot of the tables. It changes neither
// the tables nor the log.
type beside struct {
	tables *store.Store
	fold   rebuild.Rebuild    // into the schema; run sets Store and Scratch
	log    eventlog.Info      // when run began
	began  identity.Positions // of the tables then
}

// run calls work, which calls freeze and then foldTo. The schema is dropped at the end, and what a killed process has
// left before. One process at a time may run it on a database.
func (b *beside) run(ctx context.Context, work func() error) (err error) {
	if b.fold.Store, err = b.tables.OpenSchema(ctx, store.VerifySchema); err != nil {
		return err
	}
	defer b.fold.Store.Close()
	return b.fold.Store.Temporarily(ctx, func() (err error) {
		if b.log, b.began, err = b.checkLog(ctx); err != nil {
			return err
		}
		if err := b.fold.Store.Prepare(ctx, b.log.LogID, b.log.Partitions, b.fold.Rules); err != nil {
			return err
		}
		b.fold.Scratch = true
		return work()
	})
}

// freeze folds what all partitions of the tables have, which is most of the log, and takes the snapshot after that. So
// the snapshot is short. The caller must close it.
func (b *beside) freeze(ctx context.Context) (*snapshot, error) {
	if err := b.fold.Run(ctx, b.began.Lowest()); err != nil {
		return nil, err
	}
	return freeze(ctx, b.tables)
}

// foldTo folds the rest up to the positions of the snapshot, and returns these. It returns an error if the log was
// replaced or the tables were set back since run began, because the fold cannot be undone.
func (b *beside) foldTo(ctx context.Context, frozen *snapshot) (identity.Positions, error) {
	now, _, err := b.checkLog(ctx)
	if err != nil {
		return nil, err
	}
	if now.LogID != b.log.LogID {
		return nil, fmt.Errorf("%w: it was replaced while it was folded", identity.ErrLogLost)
	}
	positions, err := store.PositionsIn(ctx, frozen.tx)
	if err != nil {
		return nil, err
	}
	at := identity.PositionsOf(positions, b.log.Partitions)
	if at.Lowest() < b.began.Lowest() {
		return nil, fmt.Errorf("the tables were set back from seq %d to %d while the log was folded; verify them again",
			b.began.Lowest(), at.Lowest())
	}
	b.fold.UpTo = at
	return at, b.fold.Run(ctx, at.Highest())
}

// checkLog checks that the tables were folded from this log, and that it still has all of these
// messages. It returns the positions of the tables.
func (b *beside) checkLog(ctx context.Context) (eventlog.Info, identity.Positions, error) {
	info, err := b.fold.Log.Info(ctx)
	if err != nil {
		return eventlog.Info{}, nil, err
	}
	positions, err := identity.Check(ctx, b.fold.Log, b.tables, info)
	if err != nil {
		return eventlog.Info{}, nil, err
	}
	if older, err := identity.HoldsBefore(ctx, b.tables, info.First); err != nil || older {
		return eventlog.Info{}, nil, cmp.Or(err, fmt.Errorf("the log begins at seq %d, and the tables hold earlier messages: there is nothing to compare these with", info.First))
	}
	return info, positions, nil
}
