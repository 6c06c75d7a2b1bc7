package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/identity"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/providers"
	"github.com/payfold/payfold/internal/rebuild"
	"github.com/payfold/payfold/internal/store"
)

// Verify compares the rows of tables with a new fold of the log, their definitions with
// those that this build makes, and every message with its signature. It changes neither
// the tables nor the log.
type Verify struct {
	Log      rebuild.Log
	Tables   *store.Store
	Rules    projections.Rules
	Secrets  providers.Secrets
	Strict   bool // a message that no secret verifies is a fault
	Logger   *slog.Logger
	Progress func(position, until uint64) // see rebuild.Rebuild

	// Run calls these, one at a time, with everything that it finds. They must not be nil.
	Fault      func(Fault)
	Difference func(Difference)
	Definition func(DefinitionDifference)

	scratch *store.Store // where the log is folded
}

// Verdict counts what Verify has found.
type Verdict struct {
	Schema       string           `json:"schema"`
	Position     uint64           `json:"position"`     // the newest message that the tables hold
	Signed       int              `json:"signed"`       // messages whose signature holds
	Own          int              `json:"own"`          // those of them that are the shop's own events
	Pulled       int              `json:"pulled"`       // messages that an API gave, without a signature; with Strict these are faults, too
	Faults       int              `json:"faults"`       // of messages
	Lost         int              `json:"lost"`         // marks of messages that a restore could not bring back; no fault
	Unverifiable int              `json:"unverifiable"` // messages signed with a secret that was not given; with Strict these are faults, too
	Strict       bool             `json:"strict"`
	Differences  int              `json:"differences"`  // of rows, without those in OutOfOrder
	OutOfOrder   int              `json:"out_of_order"` // differing rows that out-of-order events explain
	Definitions  int              `json:"definitions"`  // of objects and rights
	Sums         []store.SumCheck `json:"sums"`
}

// Holds reports whether nothing is wrong.
func (v Verdict) Holds() bool {
	return v.Faults == 0 && v.Differences == 0 && v.OutOfOrder == 0 && v.Definitions == 0 && !slices.ContainsFunc(v.Sums, func(s store.SumCheck) bool { return s.Wrong > 0 })
}

// Run compares everything once. It folds most of the log before it takes the snapshot of
// the tables, so that the snapshot is short. One command at a time may verify a database,
// because Run creates and drops the schema that it folds into.
func (v *Verify) Run(ctx context.Context) (Verdict, error) {
	scratch, err := v.Tables.OpenSchema(ctx, store.VerifySchema)
	if err != nil {
		return Verdict{}, err
	}
	defer scratch.Close()
	unlock, err := scratch.LockSchema(ctx)
	if err != nil {
		return Verdict{}, err
	}
	defer unlock()
	v.scratch = scratch
	return v.verify(ctx)
}

func (v *Verify) verify(ctx context.Context) (Verdict, error) {
	info, positions, err := v.checkLog(ctx)
	if err != nil {
		return Verdict{}, err
	}
	if err := v.scratch.DropLocked(ctx); err != nil && !errors.Is(err, store.ErrNoSchema) {
		return Verdict{}, err
	}
	defer v.dropScratch(ctx)
	if err := v.scratch.Prepare(ctx, info.LogID, info.Partitions, v.Rules); err != nil {
		return Verdict{}, err
	}
	verdict := Verdict{Strict: v.Strict}
	work, ctx := errgroup.WithContext(ctx)
	work.Go(func() error { return v.compare(ctx, info, positions, &verdict, work) })
	err = work.Wait()
	return verdict, err
}

// dropScratch drops the folded tables. If ctx has ended, it has CleanUpTimeout to do so.
func (v *Verify) dropScratch(ctx context.Context) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(store.CleanUpTimeout, cancel) })()
	_ = v.scratch.DropLocked(work)
}

// compare folds the log and compares the tables with the fold. A goroutine of work checks the sums
// concurrently, because one query uses only one core.
func (v *Verify) compare(ctx context.Context, info eventlog.Info, positions identity.Positions, verdict *Verdict, work *errgroup.Group) error {
	var frozen *snapshot
	defer func() {
		if frozen != nil {
			frozen.Close()
		}
	}()
	audit := &audit{secrets: v.Secrets, partitions: info.Partitions, strict: v.Strict, found: v.Fault}
	fold := rebuild.Rebuild{Log: v.Log, Store: v.scratch, Rules: v.Rules, Logger: v.Logger, Progress: v.Progress, Look: audit.inspect, Scratch: true}
	fold.More = func(ctx context.Context) (_ identity.Positions, err error) {
		if frozen, err = v.freeze(ctx); err != nil {
			return nil, err
		}
		if err := v.sum(ctx, frozen, verdict, work); err != nil {
			return nil, err
		}
		return v.snapshotPositions(ctx, frozen, info, positions)
	}
	if err := fold.Run(ctx, positions.Lowest()); err != nil {
		return err
	}
	verdict.Schema, verdict.Position = frozen.schema.Name, fold.UpTo.Highest()
	verdict.Signed, verdict.Own, verdict.Pulled = audit.signed, audit.own, audit.pulled
	verdict.Faults, verdict.Unverifiable, verdict.Lost = audit.faults, audit.unverifiable, audit.lost
	definitions, err := frozen.Definitions(ctx, v.Rules)
	if err != nil {
		return err
	}
	verdict.Definitions = len(definitions)
	for _, d := range definitions {
		v.Definition(d)
	}
	return v.compareRows(ctx, frozen, info.First, fold.UpTo, verdict)
}

// snapshotPositions returns the positions of the snapshot. It returns an error if the log was replaced or the tables
// were set back since info and before were read, because the fold cannot be undone.
func (v *Verify) snapshotPositions(ctx context.Context, frozen *snapshot, info eventlog.Info, before identity.Positions) (identity.Positions, error) {
	now, _, err := v.checkLog(ctx)
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

// sum checks the sums of the snapshot on another connection.
func (v *Verify) sum(ctx context.Context, frozen *snapshot, verdict *Verdict, work *errgroup.Group) error {
	shared, err := frozen.share(ctx)
	if err != nil {
		return err
	}
	work.Go(func() (err error) {
		defer shared.Close()
		verdict.Sums, err = shared.Sums(ctx)
		return err
	})
	return nil
}

// checkLog checks that the tables were folded from this log, and that it still has all of these
// messages. It returns the positions of the tables.
func (v *Verify) checkLog(ctx context.Context) (eventlog.Info, identity.Positions, error) {
	info, err := v.Log.Info(ctx)
	if err != nil {
		return eventlog.Info{}, nil, err
	}
	positions, err := identity.Check(ctx, v.Log, v.Tables, info)
	if err != nil {
		return eventlog.Info{}, nil, err
	}
	if older, err := identity.HoldsBefore(ctx, v.Tables, info.First); err != nil || older {
		return eventlog.Info{}, nil, cmp.Or(err, fmt.Errorf("the log begins at seq %d, and the tables hold earlier messages: there is nothing to compare these with", info.First))
	}
	return info, positions, nil
}

// freeze takes a snapshot of the tables, which must have been folded under the same rules.
func (v *Verify) freeze(ctx context.Context) (*snapshot, error) {
	frozen, err := freeze(ctx, v.Tables)
	if err != nil {
		return nil, err
	}
	if frozen.schema.FoldID != v.Rules.FoldID() {
		frozen.Close()
		return nil, store.CommandRulesError(frozen.schema.Name, frozen.schema.FoldID, v.Rules.FoldID())
	}
	return frozen, nil
}

func (v *Verify) compareRows(ctx context.Context, frozen *snapshot, first uint64, upto identity.Positions, verdict *Verdict) error {
	customers, err := v.outOfOrder(ctx, frozen, first, upto)
	if err != nil {
		return err
	}
	return frozen.Compare(ctx, v.scratch, v.Rules, func(d Difference) {
		if d.OutOfOrder = customers.includes(d); d.OutOfOrder {
			verdict.OutOfOrder++
		} else {
			verdict.Differences++
		}
		v.Difference(d)
	})
}

// outOfOrder finds the customers whose rows may differ because of out-of-order events: only the
// customers that the recorded events connect. If these are too many, it returns none.
func (v *Verify) outOfOrder(ctx context.Context, frozen *snapshot, first uint64, upto identity.Positions) (*customers, error) {
	recorded, err := store.OutOfOrder(ctx, frozen.tx, frozen.schema.Name)
	if err != nil || len(recorded) == 0 {
		return connectedBy(nil), err
	}
	customers := connectedBy(recorded)
	err = connect(ctx, v.Log, first, upto, customers)
	if errors.Is(err, errTooConnected) {
		v.Logger.WarnContext(ctx, "differences that out-of-order events explain are not told apart", "error", err)
		return connectedBy(nil), nil
	}
	return customers, err
}
