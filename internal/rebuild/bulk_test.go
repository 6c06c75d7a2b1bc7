package rebuild

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/live"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

// However the log is split into batches and chunks, what is folded in bulk
// is what one fold gives, also where Apply went first or a chunk was given up.
func TestBulkGivesTheTablesOfOneFold(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	_, err := s.Pool().Exec(ctx, tables.RevenueByDay.DDL)
	require.NoError(t, err)
	indexes := fixture.KeysAndIndexes(ctx, t, s)
	rapid.Check(t, func(r *rapid.T) {
		rules := rapid.SampledFrom([]projections.Rules{fixture.AnyMode, fixture.WithRevenue, fixture.Sold}).Draw(r, "rules")
		fixture.Reset(ctx, t, s, rules)
		_, err := s.Pool().Exec(ctx, "truncate revenue_daily")
		require.NoError(t, err)
		log, whole := fixture.OneFold(t, rules, fixture.Bodies(r))
		saved := rapid.IntRange(0, len(log)-1).Draw(r, "applied")
		if len(rules.Extras) > 0 {
			saved = 0 // live tables have no extras
		}
		_, err = live.Apply(ctx, s, rules, log[:saved], store.Advance{LogID: "log-1", From: fixture.From(0, 0), To: uint64(saved)})
		require.NoError(t, err)
		_, err = s.Pool().Exec(ctx, "update checkpoint set position = $1", saved)
		require.NoError(t, err)
		for saved < len(log) {
			saved = foldSome(ctx, r, s, rules, log, saved)
		}
		finish(ctx, r, s, rules)
		fixture.RequireTablesOf(ctx, r, s, whole)
		fixture.RequireSound(ctx, r, s, len(log))
		fixture.RequireRows(ctx, r, s, tables.RevenueByDay, whole.Revenue.Inserted())
		if len(rules.Extras) > 0 {
			requireRevenue(ctx, r, s)
		}
		require.Equal(t, indexes, fixture.KeysAndIndexes(ctx, t, s))
	})
}

// finish makes the indexes, without anything to fold.
func finish(ctx context.Context, r *rapid.T, s *store.Store, rules projections.Rules) {
	bulk, err := NewBulk(ctx, s, rules, 0, nil)
	require.NoError(r, err)
	defer bulk.Close()
	require.NoError(r, bulk.Finish(ctx, tables.InUse))
}

// logReader reads a log ahead of its fold, some events at a time.
type logReader struct {
	bulk  *Bulk
	log   []events.Event
	read  int // how many events were read
	ahead []Ahead
}

// foldNext folds the next events, at most so many, and returns how many. Those after them may have
// been read before. The memory of the events is taken away afterwards.
func (l *logReader) foldNext(ctx context.Context, r *rapid.T, most int) (folded int) {
	l.bulk.together = rapid.IntRange(1, 4).Draw(r, "together")
	for len(l.ahead) == 0 || l.read < len(l.log) && rapid.IntRange(0, 2).Draw(r, "read ahead") == 0 {
		size := rapid.IntRange(1, min(most, len(l.log)-l.read)).Draw(r, "batch")
		ahead, err := l.bulk.ReadAhead(ctx, inParts(r, l.log[l.read:l.read+size])...)
		require.NoError(r, err)
		l.read, l.ahead = l.read+size, append(l.ahead, ahead)
	}
	next := l.ahead[0]
	l.ahead = l.ahead[1:]
	require.NoError(r, l.bulk.Fold(ctx, next))
	for _, part := range next.batches {
		folded += len(part)
		clear(part)
	}
	return folded
}

// inParts copies events into several batches.
func inParts(r *rapid.T, some []events.Event) (parts [][]events.Event) {
	for len(some) > 0 {
		if rapid.IntRange(0, 9).Draw(r, "empty") == 9 {
			parts = append(parts, nil)
		}
		size := rapid.IntRange(1, min(4, len(some))).Draw(r, "part")
		parts, some = append(parts, slices.Clone(some[:size])), some[size:]
	}
	return parts
}

// foldSome folds in bulk from there on, saves now and then, gives up somewhere
// and returns up to where it is saved.
func foldSome(ctx context.Context, r *rapid.T, s *store.Store, rules projections.Rules, log []events.Event, saved int) int {
	bulk, err := NewBulk(ctx, s, rules, uint64(len(log)), nil)
	require.NoError(r, err)
	defer bulk.Close()
	bulk.known.exact = bulk.known.exact && rapid.Bool().Draw(r, "knows places")
	for _, position := range bulk.positions {
		require.EqualValues(r, saved, position)
	}
	next := logReader{bulk: bulk, log: log, read: saved}
	for at := saved; at < len(log); {
		at += next.foldNext(ctx, r, len(log))
		switch rapid.SampledFrom([]string{"go on", "save", "give up"}).Draw(r, "then") {
		case "save":
			require.NoError(r, bulk.Save(ctx, uint64(at), nil))
			saved = at
		case "give up":
			return saved
		}
	}
	return saved
}

// requireRevenue compares the sums by day with those of the payments.
func requireRevenue(ctx context.Context, t require.TestingT, s *store.Store) {
	var wrong int
	require.NoError(t, s.Pool().QueryRow(ctx, `select count(*)
		from (select date_trunc('day', first_at) as day, coalesce(currency, 'unknown') as currency, kind, count(*) as payments, coalesce(sum(amount), 0) as gross
			from payment where first_at is not null and kind is not null and ranks / 16 % 16 > 0 and (kind <> 'one_time' or credits is not null) group by 1, 2, 3) p
		full join (select * from revenue_daily where payments <> 0 or gross <> 0) r using (day, currency, kind)
		where p.payments is distinct from r.payments or p.gross is distinct from r.gross`).Scan(&wrong))
	require.Zero(t, wrong, "what was paid")
	require.NoError(t, s.Pool().QueryRow(ctx, `select (select coalesce(sum(refunded_amount), 0) from payment) - (select coalesce(sum(refunded), 0) from revenue_daily)`).Scan(&wrong))
	require.Zero(t, wrong, "what was taken back")
	require.NoError(t, s.Pool().QueryRow(ctx, `select (select count(*) from processed_event where outcome = 'rejected' and event_type in ('checkout.completed', 'subscription.paid'))
		- (select coalesce(sum(rejected_events), 0) from revenue_daily)`).Scan(&wrong))
	require.Zero(t, wrong, "what was rejected")
}

// Partitions that stand at different places are each folded from there, and none
// goes back, whatever the chunks and whether few events are missing or most.
func TestBulkGoesOnFromUnevenPositions(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	rapid.Check(t, func(r *rapid.T) {
		fixture.Reset(ctx, t, s, fixture.AnyMode)
		whole := projections.NewState()
		var log []events.Event
		for i, body := range fixture.Bodies(r) {
			// Each partition is a shop of its own: what shares names shares a partition.
			body = ofPartition(body, i%fixture.Partitions)
			log = append(log, fixture.Event(t, uint64(i+1), body))
			fixture.AnyMode.Fold(whole, log[i])
		}
		at := map[int]uint64{}
		for partition := range fixture.Partitions {
			at[partition] = uint64(rapid.IntRange(0, len(log)).Draw(r, "position"))
			var batch []events.Event
			for i, e := range log {
				if i%fixture.Partitions == partition && e.Seq <= at[partition] {
					batch = append(batch, e)
				}
			}
			if at[partition] > 0 {
				_, err := live.Apply(ctx, s, fixture.AnyMode, batch, store.Advance{LogID: "log-1", From: fixture.From(partition, 0), To: at[partition]})
				require.NoError(r, err)
			}
		}
		bulk, err := NewBulk(ctx, s, fixture.AnyMode, uint64(len(log)), nil)
		require.NoError(r, err)
		defer bulk.Close()
		require.Equal(r, at, bulk.positions)
		size := rapid.IntRange(1, len(log)).Draw(r, "chunk")
		for begin := 0; begin < len(log); begin += size {
			end := min(begin+size, len(log))
			for i := begin; i < end; i++ {
				if log[i].Seq > at[i%fixture.Partitions] {
					require.NoError(r, fixture.Fold(ctx, bulk, log[i:i+1]))
				}
			}
			require.NoError(r, bulk.Save(ctx, uint64(end), nil))
			for partition, position := range bulk.positions {
				require.Equal(r, max(uint64(end), at[partition]), position)
			}
		}
		fixture.RequireTablesOf(ctx, r, s, whole)
		fixture.RequireSound(ctx, r, s, len(log))
	})
}

// ofPartition marks the names in a body, so that no other partition has them.
func ofPartition(body string, partition int) string {
	for _, name := range []string{"u", "t", "o", "s", "e"} {
		for i := 9; i > 0; i-- {
			body = strings.ReplaceAll(body, fmt.Sprintf(`"%s%d`, name, i), fmt.Sprintf(`"%s%d_%d`, name, partition, i))
		}
	}
	return body
}

// A payment that is found by one name and then by its other one has its ledger once.
func TestAPaymentFoundTwiceIsReversedOnce(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	refund := `{"id":"e%d","eventType":"refund.created","object":{"refund_amount":%d,%s}}`
	log := []events.Event{
		fixture.Event(t, 1, `{"id":"e1","eventType":"checkout.completed","object":{"order":{"id":"o1","transaction":"t1","amount_paid":10},`+
			`"metadata":{"kind":"one_time","user_id":"u1","credits":100}}}`),
		fixture.Event(t, 2, fmt.Sprintf(refund, 2, 1, `"transaction":{"id":"t1","amount_paid":10}`)),
		fixture.Event(t, 3, fmt.Sprintf(refund, 3, 2, `"order":"o1"`)),
	}
	whole := projections.NewState()
	bulk, err := NewBulk(ctx, s, fixture.AnyMode, 3, nil)
	require.NoError(t, err)
	defer bulk.Close()
	for i, e := range log {
		fixture.AnyMode.Fold(whole, e)
		require.NoError(t, fixture.Fold(ctx, bulk, log[i:i+1]))
		if i == 0 {
			require.NoError(t, bulk.Save(ctx, 1, nil))
		}
	}
	require.NoError(t, bulk.Save(ctx, 3, nil))
	fixture.RequireTablesOf(ctx, t, s, whole)
	require.EqualValues(t, 70, fixture.Number(ctx, t, s, "select balance from credits"))
}

// The third event needs rows that were read for the fourth one, and are not taken yet. It was itself read before the
// last save, or it needs the payments of its subscription.
func TestRowsThatWereReadForALaterEventAreReadAgain(t *testing.T) {
	t.Parallel()
	refund := `{"id":"%s","eventType":"refund.created","created_at":1767340003000,"object":{"refund_amount":%d,"transaction":{"id":"t1","amount_paid":10}}}`
	for name, bodies := range map[string][2]string{
		"a payment": {fixture.Pack("e1", "t1", "u1", 100), fmt.Sprintf(refund, "e3", 1)},
		"a payment of a subscription": {
			`{"id":"e1","eventType":"subscription.paid","created_at":1767340001000,"object":{"id":"s1","last_transaction_id":"t1","metadata":{"user_id":"u1","credits":10}}}`,
			`{"id":"e3","eventType":"subscription.active","created_at":1767340002000,"object":{"id":"s1","metadata":{"kind":"pro","user_id":"u1"}}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, s := fixture.Tables(t)
			log, whole := fixture.OneFold(t, fixture.AnyMode, []string{bodies[0], fixture.Pack("e2", "t2", "u2", 5), bodies[1], fmt.Sprintf(refund, "e4", 2)})
			bulk, err := NewBulk(ctx, s, fixture.AnyMode, 2, nil) // right after the first chunk
			require.NoError(t, err)
			defer bulk.Close()
			require.NoError(t, fixture.Fold(ctx, bulk, log[:1]))
			require.NoError(t, bulk.Save(ctx, 1, nil))
			read := func(e events.Event) Ahead {
				ahead, err := bulk.ReadAhead(ctx, []events.Event{e})
				require.NoError(t, err)
				return ahead
			}
			second, third := read(log[1]), read(log[2]) // before the next chunk begins
			require.NoError(t, bulk.Fold(ctx, second))
			fourth := read(log[3])
			require.NoError(t, bulk.Fold(ctx, third))
			require.NoError(t, bulk.Fold(ctx, fourth))
			require.NoError(t, bulk.Save(ctx, 4, nil))
			fixture.RequireTablesOf(ctx, t, s, whole)
		})
	}
}

// Memory is bounded in bytes: a chunk of long texts ends sooner.
func TestAChunkIsFullWhateverItsEvents(t *testing.T) {
	t.Parallel()
	full := func(length int) (count int) {
		ctx, s := fixture.Tables(t)
		bulk, err := NewBulk(ctx, s, fixture.AnyMode, 1_000_000, nil)
		require.NoError(t, err)
		defer bulk.Close()
		bulk.memory = 4 << 20
		for !bulk.Full() {
			var batch []events.Event
			for range 100 {
				count++
				name := fmt.Sprintf("%0*d", length, count)
				batch = append(batch, fixture.Event(t, uint64(count), fixture.Pack("e"+name, "p"+name, "u"+name, 1)))
			}
			require.NoError(t, fixture.Fold(ctx, bulk, batch))
		}
		return count
	}
	short, long := full(8), full(200)
	// A payment, a ledger line and credits, with five to eight texts and their names.
	require.InDelta(t, 4<<20/600, short, 4<<20/600/2)
	require.InDelta(t, 4<<20/2000, long, 4<<20/2000/2)
}

// Somebody has ended the session that kept other commands away, and has dropped the tables and begun new ones.
func TestAChunkIsNotWrittenIntoOtherTablesOfTheSameName(t *testing.T) {
	t.Parallel()
	ctx, live := fixture.Tables(t)
	s := fixture.Candidate(ctx, t, live, 0)
	bulk, err := NewBulk(ctx, s, fixture.AnyMode, 9, nil)
	require.NoError(t, err)
	defer bulk.Close()
	require.NoError(t, s.Drop(ctx))
	require.NoError(t, s.Prepare(ctx, "log-1", fixture.Partitions, fixture.AnyMode))
	require.ErrorIs(t, fixture.Fold(ctx, bulk, []events.Event{fixture.Event(t, 1, fixture.Pack("e1", "p1", "u1", 1))}), store.ErrFenced)
}

// Another rebuild has gone on: a chunk from the position before it is not begun, and truncates nothing.
func TestAChunkOfTablesThatAreFurtherIsNotBegun(t *testing.T) {
	t.Parallel()
	ctx, live := fixture.Tables(t)
	s := fixture.Candidate(ctx, t, live, 0)
	one, err := NewBulk(ctx, s, fixture.AnyMode, 9, nil)
	require.NoError(t, err)
	defer one.Close()
	other, err := NewBulk(ctx, s, fixture.AnyMode, 9, nil)
	require.NoError(t, err)
	defer other.Close()
	batch := []events.Event{fixture.Event(t, 1, fixture.Pack("e1", "p1", "u1", 1))}
	require.NoError(t, fixture.Fold(ctx, one, batch))
	require.NoError(t, one.Save(ctx, 1, nil))
	require.ErrorIs(t, fixture.Fold(ctx, other, batch), store.ErrFenced)
}

// Ctrl-C in the middle of a chunk is an error, never a loss or a panic.
func TestAChunkThatIsCancelledSavesNothing(t *testing.T) {
	t.Parallel()
	whole, s := fixture.Tables(t)
	for range 20 {
		bulk, err := NewBulk(whole, s, fixture.AnyMode, 1000, nil)
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(whole)
		require.NoError(t, fixture.Fold(ctx, bulk, []events.Event{fixture.Event(t, 1, fixture.Pack("e1", "p1", "u1", 1))}))
		cancel()
		for seq := uint64(2); err == nil && seq < 100; seq++ {
			err = fixture.Fold(ctx, bulk, []events.Event{fixture.Event(t, seq, fixture.Pack(fmt.Sprintf("e%d", seq), "p", "u1", 1))})
		}
		if err == nil {
			err = bulk.Save(ctx, 100, nil)
		}
		bulk.Close()
		require.Error(t, err)
		require.Zero(t, fixture.Number(whole, t, s, "select count(*) from processed_event"))
	}
}

// A part of what the fold was to apply may be in memory.
func TestNothingIsSavedAfterAFailedFold(t *testing.T) {
	t.Parallel()
	failed := errors.New("the fold failed")
	require.ErrorIs(t, (&Rebuild{}).save(t.Context(), &folded{end: 5, failed: failed}), failed)
}

// Not parallel: the limit is the process's.
func TestAChunkTakesHalfOfTheMemoryLimit(t *testing.T) {
	before := debug.SetMemoryLimit(100 << 20)
	defer debug.SetMemoryLimit(before)
	require.Equal(t, 50<<20, chunkMemory())
	require.Equal(t, 25<<20, knownMemory())
	debug.SetMemoryLimit(math.MaxInt64) // GOMEMLIMIT is not set
	require.Equal(t, 768<<20, chunkMemory())
	require.Equal(t, 768<<20, knownMemory())
}
