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
	from    Beginner
	loader  tables.Loader
	mayHave func(name string) bool // nil: the tables may have any name
	asked   asked
}

// NewSource returns a source that has looked for nothing yet. If mayHave is not nil, names for
// which it returns false are not looked for.
func NewSource(from Beginner, loader tables.Loader, mayHave func(name string) bool) *Source {
	s := &Source{from: from, loader: loader, mayHave: mayHave}
	s.loader.Filter = s.fresh
	return s
}

func (s *Source) fresh(kind tables.NameKind, names []string) []string {
	return s.asked.fresh(kind, names, s.mayHave)
}

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
