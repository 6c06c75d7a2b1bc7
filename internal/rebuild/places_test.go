package rebuild

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
	"github.com/payfold/payfold/internal/testenv/fixture"
	"github.com/payfold/payfold/internal/testenv/wait"
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
		err := table.EachPlace(ctx, connection.Conn(), tables.AllPages, "", func(place tables.Place, names tables.RowNames) {
			for _, name := range names {
				if name != "" {
					known := slices.Contains(bulk.known.Places(table, []string{name}), place) && bulk.known.MayHaveName(name)
					require.True(t, known, "%s %q", table.About().Name, name)
				}
			}
		})
		require.NoError(t, err)
	}
}

// manyPages is a log of four parts, each with more rows than some pages: payments, changes of every second one of them,
// new payments, changes of all that were there first.
type manyPages struct {
	log   []events.Event
	whole *projections.State
}

const part = 150

func newManyPages(t *testing.T) (m manyPages) {
	pack := func(event, payment string, i int) string {
		return fixture.Pack(fmt.Sprint(event, i), fmt.Sprint(payment, i), fmt.Sprint("u", i%70), 5)
	}
	refund := func(event string, amount, i int) string {
		return fmt.Sprintf(`{"id":"%s%d","eventType":"refund.created","object":{"refund_amount":%d,"transaction":{"id":"p%d","amount_paid":10}}}`, event, i, amount, i)
	}
	of := [4][]string{}
	for i := range part {
		of[0] = append(of[0], pack("e", "p", i))
		of[1] = append(of[1], refund("r", 1, i/2*2)) // the second one is a duplicate
		of[2] = append(of[2], pack("f", "q", i))
		of[3] = append(of[3], refund("s", 3, i))
	}
	m.log, m.whole = fixture.OneFold(t, fixture.AnyMode, slices.Concat(of[:]...))
	return m
}

// fold folds a part of the log, from 1.
func (m manyPages) fold(ctx context.Context, t *testing.T, bulk *Bulk, number int) {
	t.Helper()
	require.NoError(t, fixture.Fold(ctx, bulk, m.log[(number-1)*part:number*part]))
}

func (m manyPages) save(ctx context.Context, bulk *Bulk, number int) error {
	return bulk.Save(ctx, uint64(number*part), nil)
}

func (m manyPages) foldAndSave(ctx context.Context, t *testing.T, bulk *Bulk, number int) {
	t.Helper()
	m.fold(ctx, t, bulk, number)
	require.NoError(t, m.save(ctx, bulk, number))
}

// open opens a candidate that is to have more than the log.
func (m manyPages) open(ctx context.Context, t *testing.T, s *store.Store) *Bulk {
	t.Helper()
	bulk, err := NewBulk(ctx, s, fixture.AnyMode, uint64(5*part), nil)
	require.NoError(t, err)
	return bulk
}

// Rows stay found when Postgres gives the places of others to new ones, and when somebody has them written to new files.
func TestRowsAreFoundWhereverTheyAreMoved(t *testing.T) {
	t.Parallel()
	for _, disturbance := range []string{"vacuum", "vacuum full", "cluster payment using payment_mine"} {
		t.Run(disturbance, func(t *testing.T) {
			t.Parallel()
			ctx, live := fixture.Tables(t)
			s := fixture.Candidate(ctx, t, live, 0)
			m := newManyPages(t)
			bulk := m.open(ctx, t, s)
			defer bulk.Close()
			var pages int64
			for number := 1; number <= 4; number++ {
				m.fold(ctx, t, bulk, number)
				requirePlaces(ctx, t, s, bulk)
				require.NoError(t, m.save(ctx, bulk, number))
				if number != 2 {
					continue
				}
				if disturbance != "vacuum" {
					_, err := s.Pool().Exec(ctx, "create index payment_mine on payment (md5(provider_payment_id))")
					require.NoError(t, err)
				}
				_, err := s.Pool().Exec(ctx, disturbance)
				require.NoError(t, err)
				pages = fixture.Number(ctx, t, s, "select pg_relation_size('payment') / current_setting('block_size')::int")
			}
			if disturbance == "vacuum" { // or else this shows nothing
				require.Positive(t, fixture.Number(ctx, t, s, fmt.Sprintf("select count(*) from payment where provider_payment_id like 'q%%' and ctid < '(%d,0)'", pages-1)))
			}
			require.NoError(t, fixture.Fold(ctx, bulk, nil)) // reads the places of the last part
			requirePlaces(ctx, t, s, bulk)
			fixture.RequireTablesOf(ctx, t, s, m.whole)
			fixture.RequireSound(ctx, t, s, len(m.log))
		})
	}
}

// While a chunk is open, nobody can move rows, and it does not queue behind those who want to.
func TestRowsAreNotMovedUnderAChunk(t *testing.T) {
	t.Parallel()
	for _, byPlaces := range []bool{false, true} {
		for _, table := range []string{"payment", "credit_ledger", "processed_event"} { // the last is written early, the others are read
			t.Run(fmt.Sprint(table, byPlaces), func(t *testing.T) {
				t.Parallel()
				ctx, live := fixture.Tables(t)
				s := fixture.Candidate(ctx, t, live, 0)
				m := newManyPages(t)
				bulk := m.open(ctx, t, s)
				defer bulk.Close()
				bulk.known.exact = byPlaces
				m.foldAndSave(ctx, t, bulk, 1)
				require.NoError(t, fixture.Fold(ctx, bulk, nil)) // which has read and written nothing
				moved := make(chan error, 1)
				go func() {
					_, err := live.Pool().Exec(ctx, "vacuum full portal_next."+table)
					moved <- err
				}()
				awaitWaiting(ctx, t, live, "relation = 'portal_next."+table+"'::regclass and mode = 'AccessExclusiveLock'")
				m.foldAndSave(ctx, t, bulk, 2)
				require.NoError(t, <-moved)
				m.fold(ctx, t, bulk, 3)
				m.foldAndSave(ctx, t, bulk, 4)
				fixture.RequireTablesOf(ctx, t, s, m.whole)
			})
		}
	}
}

// Somebody who wants to move rows comes between the two locks of a chunk. The chunk releases its locks and begins again
// after him.
func TestAChunkThatOthersWaitForBeginsAfterThem(t *testing.T) {
	t.Parallel()
	ctx, live := fixture.Tables(t)
	s := fixture.Candidate(ctx, t, live, 0)
	m := newManyPages(t)
	bulk := m.open(ctx, t, s)
	defer bulk.Close()
	m.foldAndSave(ctx, t, bulk, 1)
	holder, err := live.Pool().Begin(ctx) // holds up the first lock at the second table
	require.NoError(t, err)
	_, err = holder.Exec(ctx, "lock table portal_next.duplicate_event")
	require.NoError(t, err)
	folded, moved := make(chan error, 1), make(chan error, 1)
	go func() { folded <- fixture.Fold(ctx, bulk, nil) }()
	awaitWaiting(ctx, t, live, "relation = 'portal_next.duplicate_event'::regclass and mode = 'RowExclusiveLock'")
	go func() {
		_, err := live.Pool().Exec(ctx, "vacuum full portal_next.processed_event")
		moved <- err
	}()
	awaitWaiting(ctx, t, live, "relation = 'portal_next.processed_event'::regclass and mode = 'AccessExclusiveLock'")
	require.NoError(t, holder.Commit(ctx))
	require.NoError(t, <-folded)
	select {
	case err := <-moved:
		require.NoError(t, err)
	case <-time.After(wait.Timeout):
		require.Fail(t, "it waits for the end of the chunk")
	}
	m.foldAndSave(ctx, t, bulk, 2)
	m.fold(ctx, t, bulk, 3)
	m.foldAndSave(ctx, t, bulk, 4)
	fixture.RequireTablesOf(ctx, t, s, m.whole)
}

// Rows that somebody else has taken away are missed, and not made up for.
func TestRowsThatAreGoneAreMissed(t *testing.T) {
	t.Parallel()
	ctx, live := fixture.Tables(t)
	s := fixture.Candidate(ctx, t, live, 0)
	m := newManyPages(t)
	bulk := m.open(ctx, t, s)
	defer bulk.Close()
	m.foldAndSave(ctx, t, bulk, 1)
	m.fold(ctx, t, bulk, 2)
	_, err := s.Pool().Exec(ctx, "delete from payment where provider_payment_id = 'p2'") // between its load and its change
	require.NoError(t, err)
	require.ErrorContains(t, m.save(ctx, bulk, 2), "replace rows of payment: somebody else has changed, moved or deleted rows")
	bulk.Close()
	require.EqualValues(t, part, fixture.Number(ctx, t, s, "select count(*) from processed_event"))

	bulk = m.open(ctx, t, s)
	defer bulk.Close()
	m.foldAndSave(ctx, t, bulk, 2)
	_, err = s.Pool().Exec(ctx, "delete from reversal where event_id = 'r2'")
	require.NoError(t, err)
	require.ErrorContains(t, fixture.Fold(ctx, bulk, nil), fmt.Sprintf("%d rows were written to reversal, but it has %d of them: somebody else has changed or deleted some", part/2, part/2-1))
	bulk.Close()

	// Where another rebuild has gone on meanwhile, that is the reason.
	bulk, other := m.open(ctx, t, s), m.open(ctx, t, s)
	defer bulk.Close()
	m.foldAndSave(ctx, t, bulk, 3)
	other.Close()
	other = m.open(ctx, t, s)
	defer other.Close()
	require.NoError(t, fixture.Fold(ctx, other, []events.Event{fixture.Event(t, 3*part+1, `{"id":"x","eventType":"refund.created","object":{"transaction":"q1"}}`)}))
	require.NoError(t, other.Save(ctx, 3*part+1, nil))
	require.ErrorIs(t, fixture.Fold(ctx, bulk, nil), store.ErrFenced)
}

// A rebuild that has no more memory for the places of rows makes indexes, and goes on with them.
func TestRowsAreFoundByIndexesWherePlacesTakeTooMuchMemory(t *testing.T) {
	t.Parallel()
	ctx, live := fixture.Tables(t)
	s := fixture.Candidate(ctx, t, live, 0)
	m := newManyPages(t)
	const indexes = "select count(*) from pg_index where indrelid = 'payment'::regclass"
	bulk := m.open(ctx, t, s)
	defer bulk.Close()
	m.foldAndSave(ctx, t, bulk, 1)
	require.True(t, bulk.known.exact)
	bulk.known.memory = part // bytes
	m.fold(ctx, t, bulk, 2)
	require.False(t, bulk.known.exact)
	require.NoError(t, m.save(ctx, bulk, 2))
	require.Positive(t, fixture.Number(ctx, t, s, indexes))
	bulk.Close()

	bulk = m.open(ctx, t, s) // which finds indexes, and goes on with them
	defer bulk.Close()
	require.False(t, bulk.known.exact)
	m.fold(ctx, t, bulk, 3)
	m.foldAndSave(ctx, t, bulk, 4)
	fixture.RequireTablesOf(ctx, t, s, m.whole)
}

// A limit of memory holds while a rebuild reads what earlier ones have left.
func TestAResumedRebuildKeepsToItsMemory(t *testing.T) {
	t.Parallel()
	ctx, live := fixture.Tables(t)
	s := fixture.Candidate(ctx, t, live, 0)
	m := newManyPages(t)
	bulk := m.open(ctx, t, s)
	m.foldAndSave(ctx, t, bulk, 1)
	bulk.Close()
	connection, err := s.Pool().Acquire(ctx)
	require.NoError(t, err)
	defer connection.Release()
	resumed := func(memory int) *known {
		k := &known{memory: memory}
		require.NoError(t, k.resume(ctx, connection.Conn(), part, uint64(5*part)))
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
		err := table.EachPlace(ctx, connection.Conn(), tables.AllPages, "", func(place tables.Place, _ tables.RowNames) {
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
