package rowcache

import (
	"context"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
)

// Read reads the rows that these events can touch from the source, and adds those that the cache
// does not have. The events are in the order of the log, at least one. It returns what it read.
func (s *Cache) Read(ctx context.Context, some []events.Event) (*projections.State, error) {
	read, err := s.source.load(ctx, some)
	if err == nil {
		s.take(read)
	}
	return read, err
}

// take adds the rows that were read from the tables and are not here yet.
func (s *Cache) take(read *projections.State) {
	for _, id := range read.Events.Seen() {
		s.events[EventIDOf(id)] = struct{}{}
	}
	for _, one := range s.tables {
		one.take(read)
	}
}

// Fold folds a batch into the cache, after Read if there is a source. seen lists the ids of its
// events that came in an earlier batch. Afterwards state has what the batch has changed, until
// the next Fold. After an error, which may be a store.RefusedError, the cache must not be used
// any more.
func (s *Cache) Fold(ctx context.Context, rules projections.Rules, state *projections.State, batch []events.Event, seen []string) error {
	state.Reset()
	s.load(state, batch)
	if err := s.complete(ctx, state); err != nil {
		return err
	}
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

// complete adds the pro payments that the loaded rows need and that the source may have. Read
// has looked only for those that the rows need which it has read itself, not for those that the
// rows need which a fold has made.
func (s *Cache) complete(ctx context.Context, state *projections.State) error {
	for len(s.licensed) > 0 {
		users := s.licensed.List()
		clear(s.licensed)
		read, err := s.source.loadLicenses(ctx, users)
		if err != nil {
			return err
		}
		s.take(read)
		for _, user := range users {
			s.loadNamed(state, tables.ProPaymentsOf(user))
		}
	}
	return nil
}
