package rowcache

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/tables"
)

// Beginner is a connection or a pool.
type Beginner interface {
	Begin(ctx context.Context) (pgx.Tx, error)
}

// Source reads the rows that a cache does not have. It remembers the names that it has looked
// for, because the cache has all of their rows. It is not safe for concurrent use.
type Source struct {
	from   Beginner
	loader tables.Loader
	known  Known
	asked  asked
}

// Known is what somebody knows of the tables without a look into them.
type Known interface {
	// MayHaveName returns false only if no row has the name.
	MayHaveName(name string) bool
	// HasEvent reports whether they have an event. It may be called concurrently.
	HasEvent(id EventID) bool
}

// NewSource returns a source that has looked for nothing yet. If known is nil, it looks for every
// name and every event.
func NewSource(from Beginner, loader tables.Loader, known Known) *Source {
	s := &Source{from: from, loader: loader, known: known}
	s.loader.Filter = s.fresh
	return s
}

// fresh returns the names that have to be looked for in the tables.
func (s *Source) fresh(kind tables.NameKind, names []string) []string {
	switch {
	case s.known == nil:
		return s.asked.fresh(kind, names, nil)
	case kind == tables.OfEvent:
		return nil // see hasEvent
	default:
		return s.asked.fresh(kind, names, s.known.MayHaveName)
	}
}

// hasEvent reports whether the tables are known to have an event. s may be nil.
func (s *Source) hasEvent(id EventID) bool { return s != nil && s.known != nil && s.known.HasEvent(id) }

// load reads the rows that these events can touch. The events are in the order of the log, at
// least one.
func (s *Source) load(ctx context.Context, some []events.Event) (*projections.State, error) {
	return s.read(ctx, func(tx pgx.Tx) error { return s.loader.Load(ctx, tx, some) })
}

// loadLicenses reads all claimed pro payments of those users that it has not looked for.
func (s *Source) loadLicenses(ctx context.Context, users []string) (*projections.State, error) {
	users = s.fresh(tables.OfLicensed, users)
	if len(users) == 0 {
		return projections.NewState(), nil
	}
	return s.read(ctx, func(tx pgx.Tx) error { return s.loader.LoadLicenses(ctx, tx, users) })
}

func (s *Source) read(ctx context.Context, load func(pgx.Tx) error) (*projections.State, error) {
	s.loader.State = projections.NewState()
	err := pgx.BeginFunc(ctx, s.from, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, tables.PreferIndexes); err != nil {
			return err
		}
		return load(tx)
	})
	return s.loader.State, err
}
