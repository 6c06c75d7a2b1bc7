package rowcache

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
)

// Beginner is a connection or a pool.
type Beginner interface {
	Begin(ctx context.Context) (pgx.Tx, error)
}

// Read reads the rows that these events can touch from the tables and adds those that the
// cache does not have. The events are in the order of the log. Afterwards loader.State has
// all rows that were read.
func (s *Cache) Read(ctx context.Context, from Beginner, loader *tables.Loader, some []events.Event) error {
	loader.State = projections.NewState()
	if len(some) == 0 {
		return nil
	}
	err := pgx.BeginFunc(ctx, from, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, tables.PreferIndexes); err != nil {
			return err
		}
		return loader.Load(ctx, tx, some)
	})
	if err == nil {
		s.take(loader.State)
	}
	return err
}

// Fold folds a batch into the cache. seen lists the ids of its events that came in an
// earlier batch. Afterwards state has what the batch has changed, until the next Fold. After
// an error, which may be a store.RefusedError, the cache must not be used any more.
func (s *Cache) Fold(rules projections.Rules, state *projections.State, batch []events.Event, seen []string) error {
	state.Reset()
	s.load(state, batch)
	for _, id := range seen {
		state.Events.Load(id)
	}
	for _, event := range batch {
		if err := store.Fold(rules, state, event); err != nil {
			return err
		}
	}
	s.keep(state)
	return nil
}
