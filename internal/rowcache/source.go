package rowcache

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/tables"
)

// Source reads the rows that a cache does not have. It remembers the names that it has looked up,
// because the cache has all of their rows. It runs one read at a time.
type Source struct {
	reading sync.Mutex
	from    tables.Beginner
	loader  tables.Loader
	known   Known
	asked   asked        // by load
	memory  atomic.Int64 // of asked
	// taken has the users all of whose claimed pro payments the cache has, and the subscriptions all of whose payments it
	// has because of loadPaymentsOf. asked does not tell that, because the cache takes the rows of load later.
	taken asked
}

// Known tells what rows the tables have, without a query. Its methods may be called concurrently.
type Known interface {
	// MayHaveName returns false only if no row of the tables would have the name in the row cache.
	MayHaveName(name string) bool
	// Exact reports whether HasEvent and Places may be called. Otherwise MayHaveName also takes ids of events, and rows
	// are found by indexes.
	Exact() bool
	// HasEvent reports whether the tables have an event.
	HasEvent(id EventID) bool
	// Places returns what tables.RowPlaces does.
	Places(table tables.AnyTable, names []string) []tables.Place
}

// NewSource returns a source that has read nothing yet. If known is nil, it looks up every name and
// every event.
func NewSource(from tables.Beginner, loader tables.Loader, known Known) *Source {
	s := &Source{from: from, loader: loader, known: known}
	if s.exact() {
		s.loader.At = known.Places
	}
	return s
}

// exact reports whether rows and events are found without an index. s may be nil.
func (s *Source) exact() bool { return s != nil && s.known != nil && s.known.Exact() }

// filter returns a Loader.Filter. If again is false, it leaves out names that were looked up before
// and names that no row has.
func (s *Source) filter(again bool) func(kind tables.NameKind, names []string) []string {
	return func(kind tables.NameKind, names []string) []string {
		if kind == tables.OfEvent && s.exact() {
			return nil // see hasEvent
		}
		fresh := s.asked.fresh(kind, names, s.mayHave())
		if again {
			return names
		}
		return fresh
	}
}

func (s *Source) mayHave() func(name string) bool {
	if s.known == nil {
		return nil
	}
	return s.known.MayHaveName
}

func (s *Source) tookLicenses(user string) { s.taken.fresh(tables.OfLicensed, []string{user}, nil) }

// size returns about the memory of the names that the source remembers.
func (s *Source) size() int { return int(s.memory.Load()) + s.taken.size() }

// hasEvent reports whether the tables are known to have an event. s may be nil.
func (s *Source) hasEvent(id EventID) bool {
	return s.exact() && s.known.HasEvent(id)
}

// load reads the rows that these events can touch. The events must be in the order of the log. Rows
// that earlier calls have read are left out, unless again is true.
func (s *Source) load(ctx context.Context, some []events.Event, again bool) (*projections.State, error) {
	if len(some) == 0 {
		return projections.NewState(), nil
	}
	s.reading.Lock()
	defer s.reading.Unlock()
	defer func() { s.memory.Store(int64(s.asked.size())) }()
	s.loader.Filter = s.filter(again)
	return s.read(ctx, func(tx pgx.Tx) error { return s.loader.Load(ctx, tx, some) })
}

// loadPaymentsOf reads all payments of the subscriptions for which the cache does not have them. The caller must take
// them at once.
func (s *Source) loadPaymentsOf(ctx context.Context, subscriptions []string) (*projections.State, error) {
	return s.loadOnce(ctx, tables.OfWholeSubscription, subscriptions, s.loader.LoadPaymentsOf)
}

// loadLicenses reads all claimed pro payments of the users for whom the cache does not have them.
// The caller must take them at once.
func (s *Source) loadLicenses(ctx context.Context, users []string) (*projections.State, error) {
	return s.loadOnce(ctx, tables.OfLicensed, users, s.loader.LoadLicenses)
}

// loadOnce loads the rows of the names that are not taken yet, and notes that they are.
func (s *Source) loadOnce(ctx context.Context, kind tables.NameKind, names []string, load func(context.Context, tables.BatchSender, []string) error) (*projections.State, error) {
	s.reading.Lock()
	defer s.reading.Unlock()
	names = s.taken.fresh(kind, names, s.mayHave())
	if len(names) == 0 {
		return projections.NewState(), nil
	}
	s.loader.Filter = s.filter(true) // rows that were read for later events are not taken yet
	return s.read(ctx, func(tx pgx.Tx) error { return load(ctx, tx, names) })
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
