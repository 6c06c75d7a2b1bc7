package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/identity"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/rebuild"
	"github.com/payfold/payfold/internal/store"
)

// Settle folds the customers anew, in the order of the log, that out-of-order events of
// the live tables connect. Live work goes on; it waits only while the rows are replaced.
type Settle struct {
	Log    rebuild.Log
	Tables *store.Store // the live ones
	Rules  projections.Rules

	folded map[uint64]events.Event // of the customers, by sequence
}

// maxSettleTries bounds how often new events of the customers may lead to others, or
// the tables may be busy.
const maxSettleTries = 10

// readAtOnce is how many messages the log is asked for at the same time.
const readAtOnce = 8

// Run settles what is recorded. It changes nothing where the error is not nil, and says
// store.ErrNotSettled where only a rebuild helps.
func (s *Settle) Run(ctx context.Context) (Settled, error) {
	info, err := s.Log.Info(ctx)
	if err != nil {
		return Settled{}, err
	}
	at, err := identity.Check(ctx, s.Log, s.Tables, info)
	if err != nil {
		return Settled{}, err
	}
	if older, err := identity.HoldsBefore(ctx, s.Tables, info.First); err != nil || older {
		return Settled{}, cmp.Or(err, fmt.Errorf("%w: the log begins at seq %d, and the tables hold what was before", ErrNotSettled, info.First))
	}
	if _, err := s.Tables.CurrentTables(ctx, s.Rules); err != nil {
		return Settled{}, err
	}
	s.folded = map[uint64]events.Event{}
	customers := connectedBy(nil)
	for range maxSettleTries {
		var settled Settled
		settled, err = s.try(ctx, info.First, &at, customers)
		if !errors.Is(err, ErrMoreConnected) && !errors.Is(err, ErrBusy) {
			return settled, notSettled(err)
		}
	}
	return Settled{}, fmt.Errorf("%w: tried %d times: %w", ErrNotSettled, maxSettleTries, err)
}

func (s *Settle) try(ctx context.Context, first uint64, at *identity.Positions, customers *customers) (Settled, error) {
	seeds, err := store.OutOfOrder(ctx, s.Tables.Pool(), s.Tables.Schema())
	if err != nil || len(seeds) == 0 {
		return Settled{}, err
	}
	customers.Seed(seeds)
	if err := connect(ctx, s.Log, first, *at, customers); err != nil {
		return Settled{}, err
	}
	// What came meanwhile is read before the batches have to wait for it.
	if _, err := s.read(ctx, at, customers, s.Tables.Positions); err != nil {
		return Settled{}, err
	}
	return replace(ctx, s.Tables, s.Rules, customers, func(ctx context.Context, now map[int]uint64) ([]events.Event, error) {
		return s.read(ctx, at, customers, func(context.Context) (map[int]uint64, error) { return now, nil })
	})
}

func notSettled(err error) error {
	if errors.Is(err, errTooConnected) {
		return fmt.Errorf("%w: %w", ErrNotSettled, err)
	}
	return err
}

// read returns all events of the customers, in the order of the log, up to where the
// tables stand now. ErrMoreConnected where those behind at lead to other customers.
func (s *Settle) read(ctx context.Context, at *identity.Positions, customers *customers, now func(context.Context) (map[int]uint64, error)) ([]events.Event, error) {
	stand, err := now(ctx)
	if err != nil {
		return nil, err
	}
	upto := make(identity.Positions, len(*at))
	for partition, position := range stand {
		upto[partition] = position
	}
	grew, err := connectOnce(ctx, s.Log, at.Least()+1, *at, upto, customers)
	if err != nil {
		return nil, err
	}
	*at = upto
	if grew {
		return nil, ErrMoreConnected
	}
	if err := s.fetch(ctx, customers.Seqs()); err != nil {
		return nil, err
	}
	out := make([]events.Event, 0, len(s.folded))
	for _, event := range s.folded {
		out = append(out, event)
	}
	slices.SortFunc(out, func(a, b events.Event) int { return cmp.Compare(a.Seq, b.Seq) })
	return out, nil
}

// fetch reads the messages that were not read before.
func (s *Settle) fetch(ctx context.Context, seqs []uint64) error {
	group, asking := errgroup.WithContext(ctx)
	group.SetLimit(readAtOnce)
	var mu sync.Mutex
	for _, seq := range seqs {
		mu.Lock()
		_, here := s.folded[seq]
		mu.Unlock()
		if here {
			continue
		}
		group.Go(func() error {
			m, err := s.Log.Message(asking, seq)
			if err != nil {
				return fmt.Errorf("read the message at seq %d: %w", seq, err)
			}
			event := events.Decode(m)
			mu.Lock()
			defer mu.Unlock()
			s.folded[seq] = event
			return nil
		})
	}
	return group.Wait()
}
