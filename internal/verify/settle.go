package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/payfold/payfold/internal/identity"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/rebuild"
	"github.com/payfold/payfold/internal/store"
)

// Settle folds events again, in the order of the log: all events of the customers that out-of-order
// events of the live tables connect, or that a quarantined event connects. Live batches wait only while the rows are
// replaced. It is not safe for concurrent use.
type Settle struct {
	Log    rebuild.Log
	Tables *store.Store // the live tables
	Rules  projections.Rules

	retried   uint64             // the quarantined event that is tried again; 0: out-of-order events are settled
	customers *customers         // of the last Run
	at        identity.Positions // up to which all of their events are known
	folded    *projections.State // of the last fold
}

// maxSettleTries bounds the tries that fail because new events connect further customers,
// or because the tables are busy.
const maxSettleTries = 10

// Run settles the out-of-order events that are recorded, unless another command works on the live
// tables. After an error nothing has changed, unless the connection broke at the commit. Then
// another Run tells: after a successful commit it finds nothing to settle.
func (s *Settle) Run(ctx context.Context) (Settled, error) {
	unlock, err := s.Tables.LockSchema(ctx)
	if err != nil {
		return Settled{}, err
	}
	defer unlock()
	info, err := s.Log.Info(ctx)
	if err != nil {
		return Settled{}, err
	}
	if s.at, err = identity.Check(ctx, s.Log, s.Tables, info); err != nil {
		return Settled{}, err
	}
	if older, err := identity.HoldsBefore(ctx, s.Tables, info.First); err != nil || older {
		return Settled{}, cmp.Or(err, fmt.Errorf("%w: the log begins at seq %d, and the tables hold earlier messages", s.errRebuild(), info.First))
	}
	if _, err := s.Tables.CurrentTables(ctx, s.Rules); err != nil {
		return Settled{}, err
	}
	s.customers = connectedBy(nil)
	for range maxSettleTries {
		var settled Settled
		settled, err = s.try(ctx, info.First)
		if !errors.Is(err, errMoreConnected) && !errors.Is(err, errBusy) {
			return settled, s.notSettled(err)
		}
	}
	return Settled{}, fmt.Errorf("%w: tried %d times: %w", s.errRebuild(), maxSettleTries, err)
}

func (s *Settle) try(ctx context.Context, first uint64) (Settled, error) {
	cause, err := s.cause(ctx, s.Tables.Pool())
	if err != nil || len(cause) == 0 {
		return Settled{}, err
	}
	s.customers.seed(cause)
	if err := connect(ctx, s.Log, first, s.at, s.customers); err != nil {
		return Settled{}, err
	}
	// Read new events now, so that batches do not have to wait while they are read.
	positions, err := s.Tables.Positions(ctx)
	if err != nil {
		return Settled{}, err
	}
	if err := s.read(ctx, positions); err != nil {
		return Settled{}, err
	}
	if s.retried != 0 && !s.customers.hasMessage(s.retried) {
		return Settled{}, errNotReached
	}
	return s.replace(ctx)
}

// cause returns the events because of which customers are folded again. A quarantined event is its own later event.
func (s *Settle) cause(ctx context.Context, q store.Querier) ([]store.OutOfOrderEvent, error) {
	if s.retried == 0 {
		return store.OutOfOrder(ctx, q, s.Tables.Schema())
	}
	quarantined, err := store.IsQuarantined(ctx, q, s.Tables.Schema(), s.retried)
	if err != nil || !quarantined {
		return nil, err
	}
	return []store.OutOfOrderEvent{{Seq: s.retried, Later: s.retried}}, nil
}

func (s *Settle) notSettled(err error) error {
	if errors.Is(err, errTooConnected) {
		return fmt.Errorf("%w: %w", s.errRebuild(), err)
	}
	return err
}

// read reads the events of the customers up to these positions. It returns errMoreConnected if they connect further
// customers.
func (s *Settle) read(ctx context.Context, positions map[int]uint64) error {
	upto := identity.PositionsOf(positions, len(s.at))
	grew, err := connectOnce(ctx, s.Log, s.at.Lowest()+1, s.at, upto, s.customers)
	if err != nil {
		return err
	}
	if s.at = upto; grew {
		return errMoreConnected
	}
	return nil
}
