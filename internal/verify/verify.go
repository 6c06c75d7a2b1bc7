package verify

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"golang.org/x/sync/errgroup"

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
	verdict := Verdict{Strict: v.Strict}
	work, ctx := errgroup.WithContext(ctx)
	work.Go(func() error { return v.compare(ctx, &verdict, work) })
	err := work.Wait()
	return verdict, err
}

// compare folds the log and compares the tables with the fold. A goroutine of work checks the sums
// concurrently, because one query uses only one core.
func (v *Verify) compare(ctx context.Context, verdict *Verdict, work *errgroup.Group) error {
	audit := &audit{secrets: v.Secrets, strict: v.Strict, found: v.Fault, verdict: verdict}
	fold := rebuild.Rebuild{Log: v.Log, Rules: v.Rules, Logger: v.Logger, Progress: v.Progress, Look: audit.inspect}
	b := &beside{tables: v.Tables, fold: fold}
	return b.run(ctx, func() error {
		audit.partitions = b.log.Partitions
		frozen, err := b.freeze(ctx)
		if err != nil {
			return err
		}
		defer frozen.Close()
		if frozen.schema.FoldID != v.Rules.FoldID() {
			return store.CommandRulesError(frozen.schema.Name, frozen.schema.FoldID, v.Rules.FoldID())
		}
		if err := v.sum(ctx, frozen, verdict, work); err != nil {
			return err
		}
		upTo, err := b.foldTo(ctx, frozen)
		if err != nil {
			return err
		}
		verdict.Schema, verdict.Position = frozen.schema.Name, upTo.Highest()
		definitions, err := frozen.Definitions(ctx, v.Rules)
		if err != nil {
			return err
		}
		verdict.Definitions = len(definitions)
		for _, d := range definitions {
			v.Definition(d)
		}
		return v.compareRows(ctx, frozen, b.fold.Store, b.log.First, upTo, verdict)
	})
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

func (v *Verify) compareRows(ctx context.Context, frozen *snapshot, scratch *store.Store, first uint64, upto identity.Positions, verdict *Verdict) error {
	customers, err := v.outOfOrder(ctx, frozen, first, upto)
	if err != nil {
		return err
	}
	return frozen.Compare(ctx, scratch, v.Rules, func(d Difference) {
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
