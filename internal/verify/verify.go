package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/payfold/payfold/internal/identity"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/rebuild"
	"github.com/payfold/payfold/internal/store"
)

// Verify compares tables with a fold of the log that is made for that, their
// definitions with those this build makes, and every message with its signature. It changes nothing of either.
type Verify struct {
	Log        rebuild.Log
	Tables     *store.Store
	Scratch    *store.Store // a schema nobody else uses, made and dropped here
	Rules      projections.Rules
	Signers    []Signer
	Strict     bool // a message that none of them verifies is wrong
	Logger     *slog.Logger
	Progress   func(position, until uint64)
	Fault      func(Fault)      // a message that is not as it was stored
	Difference func(Difference) // a row that is not what the fold gives
	Definition func(DefinitionDifference)
}

// Verdict is what was looked at and found.
type Verdict struct {
	Schema       string           `json:"schema"`
	Position     uint64           `json:"position"`     // the newest message that the tables hold
	Faults       int              `json:"faults"`       // of messages
	Unverifiable int              `json:"unverifiable"` // messages signed with a secret that was not given; faults too where strict
	Strict       bool             `json:"strict"`
	Differences  int              `json:"differences"`  // of rows, but for those counted in OutOfOrder
	OutOfOrder   int              `json:"out_of_order"` // rows of customers whose events were applied out of the log's order
	Definitions  int              `json:"definitions"`  // of objects that are not what this build makes, and of rights
	Sums         []store.SumCheck `json:"sums"`
}

// Holds says whether nothing is wrong.
func (v Verdict) Holds() bool {
	return v.Faults == 0 && v.Differences == 0 && v.OutOfOrder == 0 && v.Definitions == 0 && !slices.ContainsFunc(v.Sums, func(s store.SumCheck) bool { return s.Wrong > 0 })
}

// Run looks at everything once. Most is folded before the tables are frozen, so
// that the frozen moment is short.
func (v *Verify) Run(ctx context.Context) (Verdict, error) {
	info, err := v.Log.Info(ctx)
	if err != nil {
		return Verdict{}, err
	}
	at, err := identity.Check(ctx, v.Log, v.Tables, info)
	if err != nil {
		return Verdict{}, err
	}
	if older, err := identity.HoldsBefore(ctx, v.Tables, info.First); err != nil || older {
		return Verdict{}, cmp.Or(err, fmt.Errorf("the log begins at seq %d, and the tables hold what was before: there is nothing to compare that with", info.First))
	}
	if err := v.Scratch.Drop(ctx); err != nil && !errors.Is(err, store.ErrNoSchema) {
		return Verdict{}, err
	}
	defer func() { _ = v.Scratch.Drop(context.WithoutCancel(ctx)) }()
	if err := v.Scratch.Prepare(ctx, info.LogID, info.Partitions, v.Rules); err != nil {
		return Verdict{}, err
	}
	audit := &audit{signers: v.Signers, partitions: info.Partitions, strict: v.Strict, found: v.Fault}
	rebuild := rebuild.Rebuild{Log: v.Log, Store: v.Scratch, Rules: v.Rules, Logger: v.Logger, Progress: v.Progress, Look: audit.look, Scratch: true}
	if err := rebuild.Run(ctx, at.Least()); err != nil {
		return Verdict{}, err
	}
	frozen, err := Freeze(ctx, v.Tables)
	if err != nil {
		return Verdict{}, err
	}
	defer frozen.Close()
	if frozen.Schema.FoldID != v.Rules.FoldID() {
		return Verdict{}, store.CommandRulesError(frozen.Schema.Name, frozen.Schema.FoldID, v.Rules.FoldID())
	}
	positions, err := frozen.Positions(ctx)
	if err != nil {
		return Verdict{}, err
	}
	rebuild.UpTo = make([]uint64, info.Partitions)
	for partition, position := range positions {
		rebuild.UpTo[partition] = position
	}
	verdict := Verdict{Schema: frozen.Schema.Name, Strict: v.Strict, Position: slices.Max(rebuild.UpTo)}
	if err := rebuild.Run(ctx, verdict.Position); err != nil {
		return Verdict{}, err
	}
	verdict.Faults, verdict.Unverifiable = audit.faults, audit.unverifiable
	err = frozen.Definitions(ctx, v.Rules, func(d DefinitionDifference) {
		verdict.Definitions++
		v.Definition(d)
	})
	if err != nil {
		return Verdict{}, err
	}
	customers, err := v.outOfOrder(ctx, frozen, info.First, rebuild.UpTo)
	if err != nil {
		return Verdict{}, err
	}
	err = frozen.Compare(ctx, v.Scratch, v.Rules, func(d Difference) {
		if d.OutOfOrder = customers.Explains(d); d.OutOfOrder {
			verdict.OutOfOrder++
		} else {
			verdict.Differences++
		}
		v.Difference(d)
	})
	if err != nil {
		return Verdict{}, err
	}
	verdict.Sums, err = frozen.Sums(ctx)
	return verdict, err
}

// outOfOrder finds the customers whose rows may differ because their events were applied
// out of the log's order: those that the recorded ones connect, and nobody else. Where
// these are too many to be told from the others, it finds none.
func (v *Verify) outOfOrder(ctx context.Context, frozen *Snapshot, first uint64, upto identity.Positions) (*customers, error) {
	seeds, err := frozen.OutOfOrder(ctx)
	if err != nil || len(seeds) == 0 {
		return connectedBy(nil), err
	}
	customers := connectedBy(seeds)
	err = connect(ctx, v.Log, first, upto, customers)
	if errors.Is(err, errTooConnected) {
		v.Logger.WarnContext(ctx, "rows that differ are not told apart by their reason", "error", err)
		return connectedBy(nil), nil
	}
	return customers, err
}
