package rebuild

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

// requirePlaces requires that a Bulk knows all committed rows by each of their names, if it knows places.
func requirePlaces(ctx context.Context, t require.TestingT, s *store.Store, bulk *Bulk) {
	if bulk.chunk == nil || bulk.rows == nil || !bulk.known.any || !bulk.known.exact {
		return
	}
	connection, err := s.Pool().Acquire(ctx)
	require.NoError(t, err)
	defer connection.Release()
	for _, table := range named() {
		err := table.EachPlace(ctx, connection.Conn(), 0, "", func(place tables.Place, names tables.RowNames) {
			for _, name := range names {
				if name != "" {
					require.Contains(t, bulk.known.Places(table, []string{name}), place, "%s %q", table.About().Name, name)
					require.True(t, bulk.known.MayHaveName(name), name)
				}
			}
		})
		require.NoError(t, err)
	}
}

// manyPages is a log of packs, each refunded once: each third of it has more rows than some pages.
type manyPages struct {
	log   []events.Event
	whole *projections.State
}

const third = 300

func newManyPages(t *testing.T) (m manyPages) {
	var bodies []string
	for i := range third {
		bodies = append(bodies, fixture.Pack(fmt.Sprint("e", i), fmt.Sprint("p", i), fmt.Sprint("u", i%7), 5))
	}
	for i := range third {
		bodies = append(bodies, fmt.Sprintf(`{"id":"r%d","eventType":"refund.created","object":{"transaction":"p%d"}}`, i, i))
	}
	for i := range third {
		bodies = append(bodies, fixture.Pack(fmt.Sprint("f", i), fmt.Sprint("q", i), fmt.Sprint("u", i%7), 5))
	}
	m.log, m.whole = fixture.OneFold(t, fixture.AnyMode, bodies)
	return m
}

// fold folds a third of the log, from 1.
func (m manyPages) fold(ctx context.Context, t *testing.T, bulk *Bulk, number int) {
	t.Helper()
	require.NoError(t, bulk.Fold(ctx, m.log[(number-1)*third:number*third]))
}

func (m manyPages) save(ctx context.Context, bulk *Bulk, number int) error {
	return bulk.Save(ctx, uint64(number*third), nil)
}

// Rows stay found when Postgres gives their old places to others, and when somebody has them written to new files.
func TestRowsAreFoundWhereverTheyAreMoved(t *testing.T) {
	t.Parallel()
	for _, disturbance := range []string{"vacuum", "vacuum full", "cluster payment using payment_mine"} {
		t.Run(disturbance, func(t *testing.T) {
			t.Parallel()
			ctx, live := fixture.Tables(t)
			s := fixture.Candidate(ctx, t, live, 0)
			m := newManyPages(t)
			bulk, err := NewBulk(ctx, s, fixture.AnyMode, uint64(4*third), nil)
			require.NoError(t, err)
			defer bulk.Close()
			m.fold(ctx, t, bulk, 1)
			require.NoError(t, m.save(ctx, bulk, 1))
			m.fold(ctx, t, bulk, 2)
			requirePlaces(ctx, t, s, bulk)
			require.NoError(t, m.save(ctx, bulk, 2))
			if disturbance != "vacuum" {
				_, err = s.Pool().Exec(ctx, "create index payment_mine on payment (md5(provider_payment_id))")
				require.NoError(t, err)
			}
			_, err = s.Pool().Exec(ctx, disturbance)
			require.NoError(t, err)
			pages := fixture.Number(ctx, t, s, "select pg_relation_size('payment') / current_setting('block_size')::int")
			m.fold(ctx, t, bulk, 3)
			requirePlaces(ctx, t, s, bulk)
			require.NoError(t, m.save(ctx, bulk, 3))
			if disturbance == "vacuum" { // or else this shows nothing
				require.Positive(t, fixture.Number(ctx, t, s, fmt.Sprintf("select count(*) from payment where provider_payment_id like 'q%%' and ctid < '(%d,0)'", pages-1)))
			}
			require.NoError(t, bulk.Fold(ctx, nil)) // reads the places of the last third
			requirePlaces(ctx, t, s, bulk)
			fixture.RequireTablesOf(ctx, t, s, m.whole)
			fixture.RequireSound(ctx, t, s, len(m.log))
		})
	}
}

// While a chunk is open, nobody can move rows: "vacuum full" and its like need such a lock.
func TestRowsAreNotMovedUnderAChunk(t *testing.T) {
	t.Parallel()
	ctx, live := fixture.Tables(t)
	s := fixture.Candidate(ctx, t, live, 0)
	bulk, err := NewBulk(ctx, s, fixture.AnyMode, 9, nil)
	require.NoError(t, err)
	defer bulk.Close()
	for seq := range uint64(2) {
		require.NoError(t, bulk.Fold(ctx, nil)) // which has nothing to write
		for _, table := range tables.NameList() {
			err := pgx.BeginFunc(ctx, live.Pool(), func(tx pgx.Tx) error {
				_, err := tx.Exec(ctx, "lock table portal_next."+table+" in access exclusive mode nowait")
				return err
			})
			require.ErrorContains(t, err, "could not obtain lock")
		}
		require.NoError(t, bulk.Save(ctx, seq+1, nil))
	}
}

// Rows that somebody else has taken away are missed, and not made up for.
func TestRowsThatAreGoneAreMissed(t *testing.T) {
	t.Parallel()
	ctx, live := fixture.Tables(t)
	s := fixture.Candidate(ctx, t, live, 0)
	m := newManyPages(t)
	bulk, err := NewBulk(ctx, s, fixture.AnyMode, uint64(4*third), nil)
	require.NoError(t, err)
	defer bulk.Close()
	m.fold(ctx, t, bulk, 1)
	require.NoError(t, m.save(ctx, bulk, 1))
	m.fold(ctx, t, bulk, 2)
	_, err = s.Pool().Exec(ctx, "delete from payment where provider_payment_id = 'p1'") // between its load and its change
	require.NoError(t, err)
	require.ErrorContains(t, m.save(ctx, bulk, 2), "replace rows of payment: somebody else has changed, moved or deleted rows")
	bulk.Close()
	require.EqualValues(t, third, fixture.Number(ctx, t, s, "select count(*) from processed_event"))

	bulk, err = NewBulk(ctx, s, fixture.AnyMode, uint64(4*third), nil)
	require.NoError(t, err)
	defer bulk.Close()
	m.fold(ctx, t, bulk, 2)
	require.NoError(t, m.save(ctx, bulk, 2))
	_, err = s.Pool().Exec(ctx, "delete from reversal where event_id = 'r2'")
	require.NoError(t, err)
	require.ErrorIs(t, bulk.Fold(ctx, m.log[2*third:]), store.ErrFenced)
}

// A rebuild that has no more memory for the places of rows makes indexes, and goes on with them.
func TestRowsAreFoundByIndexesWherePlacesTakeTooMuchMemory(t *testing.T) {
	t.Parallel()
	ctx, live := fixture.Tables(t)
	s := fixture.Candidate(ctx, t, live, 0)
	m := newManyPages(t)
	const indexes = "select count(*) from pg_index where indrelid = 'payment'::regclass"
	open := func() *Bulk {
		bulk, err := NewBulk(ctx, s, fixture.AnyMode, uint64(4*third), nil)
		require.NoError(t, err)
		return bulk
	}
	bulk := open()
	defer bulk.Close()
	m.fold(ctx, t, bulk, 1)
	require.NoError(t, m.save(ctx, bulk, 1))
	require.True(t, bulk.known.exact)
	bulk.known.memory = third // bytes
	m.fold(ctx, t, bulk, 2)
	require.False(t, bulk.known.exact)
	require.NoError(t, m.save(ctx, bulk, 2))
	require.Positive(t, fixture.Number(ctx, t, s, indexes))
	bulk.Close()

	bulk = open() // which finds indexes, and goes on with them
	defer bulk.Close()
	require.False(t, bulk.known.exact)
	m.fold(ctx, t, bulk, 3)
	require.NoError(t, m.save(ctx, bulk, 3))
	fixture.RequireTablesOf(ctx, t, s, m.whole)
}

// A limit of memory holds while a rebuild reads what earlier ones have left.
func TestAResumedRebuildKeepsToItsMemory(t *testing.T) {
	t.Parallel()
	ctx, live := fixture.Tables(t)
	s := fixture.Candidate(ctx, t, live, 0)
	m := newManyPages(t)
	bulk, err := NewBulk(ctx, s, fixture.AnyMode, uint64(4*third), nil)
	require.NoError(t, err)
	m.fold(ctx, t, bulk, 1)
	require.NoError(t, m.save(ctx, bulk, 1))
	bulk.Close()
	connection, err := s.Pool().Acquire(ctx)
	require.NoError(t, err)
	defer connection.Release()
	resumed := func(memory int) *known {
		k := &known{memory: memory}
		require.NoError(t, k.resume(ctx, connection.Conn(), third, uint64(4*third)))
		require.True(t, k.MayHaveName("p1"))
		return k
	}
	require.True(t, resumed(1<<20).exact)
	all := resumed(1 << 20)
	require.True(t, resumed(all.places.size()+all.events.Size()).exact)
	for _, few := range []int{0, all.places.size() / 2, all.places.size(), all.places.size() + all.events.Size() - 1} {
		k := resumed(few)
		require.False(t, k.exact)
		require.Zero(t, k.places.size()+k.events.Size())
	}
}

// Another row can have the place of a row that is gone: it is not taken for that one.
func TestOnlyRowsWithTheNameAreTakenFromAPlace(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Applied(t, fixture.Pack("e1", "p1", "u1", 1), fixture.Pack("e2", "p2", "u2", 1), fixture.Pro("e3", "p3", "u3", "gh"))
	connection, err := s.Pool().Acquire(ctx)
	require.NoError(t, err)
	defer connection.Release()
	everywhere := map[string][]tables.Place{}
	for _, table := range named() {
		name := table.About().Name
		err := table.EachPlace(ctx, connection.Conn(), 0, "", func(place tables.Place, _ tables.RowNames) {
			everywhere[name] = append(everywhere[name], place)
		})
		require.NoError(t, err)
	}
	require.Len(t, everywhere["payment"], 3)
	l := tables.Loader{
		Schema: s.Schema(), State: projections.NewState(),
		Filter: func(_ tables.NameKind, names []string) []string { return names },
		At:     func(table tables.AnyTable, _ []string) []tables.Place { return everywhere[table.About().Name] },
	}
	require.NoError(t, l.Load(ctx, connection, []events.Event{fixture.Event(t, 4, `{"id":"e4","eventType":"refund.created","object":{"transaction":"p1"}}`)}))
	for _, payment := range l.State.Payments.Rows() {
		require.Equal(t, "p1", payment.ProviderPaymentID)
	}
	require.Len(t, l.State.Payments.Rows(), 1)
	require.Len(t, l.State.Ledger.Lines(), 1)
	require.Empty(t, l.State.Licenses.Rows())
}
