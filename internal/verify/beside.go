package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/identity"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/rebuild"
	"github.com/payfold/payfold/internal/store"
)

// beside folds the log into a schema of its own, up to the positions of a snapshot of the tables. It changes neither
// the tables nor the log, and drops its schema at the end. What a killed process has left is dropped by the next one.
type beside struct {
	log      rebuild.Log
	tables   *store.Store
	rules    projections.Rules
	logger   *slog.Logger
	progress func(position, until uint64)
	look     func(events.Message, events.Event) // see rebuild.Rebuild
	opened   func(eventlog.Info)                // called before the fold; may be nil
	frozen   func(context.Context, *snapshot) error
	release  func() // called before the schema is dropped, if frozen was called; may be nil

	scratch *store.Store // where the log is folded
}

// compareFunc compares a snapshot with the fold, up to some positions. first is the first message of the log.
type compareFunc func(frozen *snapshot, first uint64, upTo identity.Positions) error

// run calls frozen with the snapshot as soon as it is taken, and compare when the log is folded up to there. One process
// at a time may run it on a database.
func (b *beside) run(ctx context.Context, compare compareFunc) error {
	var err error
	if b.scratch, err = b.tables.OpenSchema(ctx, store.VerifySchema); err != nil {
		return err
	}
	defer b.scratch.Close()
	unlock, err := b.scratch.LockSchema(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	info, positions, err := b.checkLog(ctx)
	if err != nil {
		return err
	}
	if b.opened != nil {
		b.opened(info)
	}
	if err := b.scratch.DropLocked(ctx); err != nil && !errors.Is(err, store.ErrNoSchema) {
		return err
	}
	defer b.scratch.DropAtEnd(ctx)
	if err := b.scratch.Prepare(ctx, info.LogID, info.Partitions, b.rules); err != nil {
		return err
	}
	return b.fold(ctx, info, positions, compare)
}

func (b *beside) fold(
	ctx context.Context, info eventlog.Info, positions identity.Positions, compare compareFunc,
) error {
	var taken *snapshot
	defer func() {
		if taken != nil {
			taken.Close()
			if b.release != nil {
				b.release()
			}
		}
	}()
	fold := rebuild.Rebuild{
		Log: b.log, Store: b.scratch, Rules: b.rules, Logger: b.logger, Progress: b.progress, Look: b.look, Scratch: true,
	}
	fold.More = func(ctx context.Context) (_ identity.Positions, err error) {
		if taken, err = freeze(ctx, b.tables); err != nil {
			return nil, err
		}
		if err := b.frozen(ctx, taken); err != nil {
			return nil, err
		}
		return b.snapshotPositions(ctx, taken, info, positions)
	}
	if err := fold.Run(ctx, positions.Lowest()); err != nil {
		return err
	}
	return compare(taken, info.First, fold.UpTo)
}

// snapshotPositions returns the positions of the snapshot. It returns an error if the log was replaced or the tables
// were set back since info and before were read, because the fold cannot be undone.
func (b *beside) snapshotPositions(ctx context.Context, frozen *snapshot, info eventlog.Info, before identity.Positions) (identity.Positions, error) {
	now, _, err := b.checkLog(ctx)
	if err != nil {
		return nil, err
	}
	if now.LogID != info.LogID {
		return nil, fmt.Errorf("%w: it was replaced while it was folded", identity.ErrLogLost)
	}
	positions, err := store.PositionsIn(ctx, frozen.tx)
	if err != nil {
		return nil, err
	}
	at := identity.PositionsOf(positions, info.Partitions)
	if at.Lowest() < before.Lowest() {
		return nil, fmt.Errorf("the tables were set back from seq %d to %d while the log was folded; verify them again", before.Lowest(), at.Lowest())
	}
	return at, nil
}

// checkLog checks that the tables were folded from this log, and that it still has all of these
// messages. It returns the positions of the tables.
func (b *beside) checkLog(ctx context.Context) (eventlog.Info, identity.Positions, error) {
	info, err := b.log.Info(ctx)
	if err != nil {
		return eventlog.Info{}, nil, err
	}
	positions, err := identity.Check(ctx, b.log, b.tables, info)
	if err != nil {
		return eventlog.Info{}, nil, err
	}
	if older, err := identity.HoldsBefore(ctx, b.tables, info.First); err != nil || older {
		return eventlog.Info{}, nil, cmp.Or(err, fmt.Errorf("the log begins at seq %d, and the tables hold earlier messages: there is nothing to compare these with", info.First))
	}
	return info, positions, nil
}
