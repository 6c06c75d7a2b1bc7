package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// A candidate begins without an index. However it is folded, with whatever names,
// it ends with the rows of one fold and with the indexes of the live tables.
func TestACandidateBecomesTheTablesOfOneFold(t *testing.T) {
	t.Parallel()
	ctx, live := setup(t)
	s, err := live.Beside(ctx, "candidate")
	require.NoError(t, err)
	defer s.Close()
	want := keysAndIndexes(ctx, t, live)
	rapid.Check(t, func(r *rapid.T) {
		rules := rapid.SampledFrom([]projections.Rules{anyMode, withRevenue, sold}).Draw(r, "rules")
		_, err := live.pool.Exec(ctx, "drop schema if exists candidate cascade; delete from payfold.schema_state where schema_name = 'candidate'; delete from payfold.poison")
		require.NoError(r, err)
		require.NoError(r, s.Prepare(ctx, "log-1", partitions, rules))
		bodies := shop(r)
		if len(rules.Extras) == 0 && rapid.Bool().Draw(r, "namesakes") { // whose amounts revenue_daily refuses
			bodies = namesakes(r)
		}
		log, whole := oneFold(t, rules, bodies)
		for saved := 0; saved < len(log); {
			saved = foldInStyle(ctx, r, s, rules, log, saved)
		}
		finish(ctx, r, s, rules)
		requireSameTables(ctx, r, s, whole)
		requireSound(ctx, r, s, len(log))
		if len(rules.Extras) > 0 {
			requireRows(ctx, r, s, "revenue_daily", whole.Revenue.Inserted())
			return
		}
		require.Equal(r, want, strings.ReplaceAll(keysAndIndexes(ctx, r, s), "candidate.", "portal."))
	})
}

func keysAndIndexes(ctx context.Context, t require.TestingT, s *Store) (list string) {
	require.NoError(t, s.pool.QueryRow(ctx, `select string_agg(definition, E'\n' order by definition) from (
		select indexdef from pg_indexes where schemaname = $1::text
		union all select conname || ' ' || pg_get_constraintdef(oid) from pg_constraint where connamespace = $1::regnamespace
	) as all_of_them (definition)`, s.schema).Scan(&list))
	return list
}

// namesakes is a log whose users, payments, orders, subscriptions and events share
// their names, with texts, times and amounts at their limits.
func namesakes(t *rapid.T) []string {
	wide := rapid.IntRange(0, 2).Draw(t, "wide")
	words := []string{"a", "b", "c", "d"}
	if wide == 1 {
		words = append(words, "e", "f", "g", "h", "i", "j", "k", "l")
	}
	if wide == 2 {
		words = words[:2]
	}
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
		w := func(label string) string {
			if rapid.IntRange(0, 2).Draw(t, label+"?") == 0 {
				return "null"
			}
			s := rapid.SampledFrom(words).Draw(t, label)
			if rapid.IntRange(0, 30).Draw(t, label+"long") == 0 {
				s = strings.Repeat(s, 255)
			}
			return `"` + s + `"`
		}
		pick := func(label string, choices ...string) string { return rapid.SampledFrom(choices).Draw(t, label) }
		id := pick("idkind", "a", "b", "c") + fmt.Sprint(rapid.IntRange(0, 40).Draw(t, "id"))
		if rapid.IntRange(0, 9).Draw(t, "idword") == 0 {
			id = rapid.SampledFrom(words).Draw(t, "idw")
		}
		eventType := pick("type", "checkout.completed", "checkout.completed", "subscription.paid", "subscription.paid", "subscription.paid", "customer.created",
			"refund.created", "refund.created", "dispute.created", "subscription.update", "subscription.active", "subscription.canceled", "subscription.past_due")
		object := []string{
			`"metadata":{"user_id":` + w("user") + `,` + pick("kind", `"kind":"one_time"`, `"kind":"subscription"`, `"kind":"pro"`, `"kind":null`, `"kind":"pro"`) + `,` +
				pick("product", `"key":"pack"`, `"key":"yearly"`, `"key":"licence"`, `"key":"none"`, `"key":null`) + `,` +
				pick("credits", `"credits":10`, `"credits":7`, `"credits":null`, `"credits":1000000000000`, `"credits":1`) + `,"github_username":` + w("gh") + `}`,
			`"order":` + w("order"),
			`"subscription":` + w("subscription"),
			`"transaction":` + pick("txkind", w("tx"), `{"id":`+w("txid")+`,"amount_paid":`+pick("paid", "5", "0", "9223372036854775807", "null")+`,"refunded_amount":`+pick("refd", "2", "5", "null", "0")+`}`),
			pick("amount", `"refund_amount":1`, `"refund_amount":0`, `"refund_amount":null`, `"refund_amount":9223372036854775807`, `"refund_amount":100`),
			pick("status", `"status":"active"`, `"status":"pending"`, `"status":"succeeded"`, `"status":null`),
			pick("period", `"current_period_end":"2026-02-01T00:00:00.123456789Z"`, `"current_period_end":null`, `"current_period_end":"9999-12-31T23:59:59.999999999Z"`, `"current_period_start":"0001-01-01T00:00:00Z"`, `"current_period_start":"1969-12-31T23:59:59.9999999Z"`),
		}
		created := pick("created", `1767340000000`, `1767340001000`, `1767340002000`, `1767340003000`, `"2026-01-02T07:46:40.0000015Z"`, `0`, `-1`, `"0001-01-01T00:00:00Z"`)
		return fmt.Sprintf(`{"id":%q,"eventType":%q,"created_at":%s,"object":{%s}}`, id, eventType, created, strings.Join(object, ","))
	}), 1, 60).Draw(t, "bodies")
}

// foldInStyle folds from there on, in batches of about one size, saves, gives up or
// finishes now and then, and returns up to where it is saved.
func foldInStyle(ctx context.Context, r *rapid.T, s *Store, rules projections.Rules, log []events.Event, saved int) int {
	until := rapid.SampledFrom([]int{0, saved, len(log), len(log) * 20}).Draw(r, "until")
	bulk, err := s.NewBulk(ctx, rules, uint64(until), nil)
	require.NoError(r, err)
	defer bulk.Close()
	most := rapid.SampledFrom([]int{1, 1, 2, 5, 60}).Draw(r, "most")
	style := rapid.SampledFrom([][]string{{"go on"}, {"go on", "go on", "go on", "go on", "save"}, {"go on", "save"}, {"go on", "go on", "save", "give up", "finish"}}).Draw(r, "style")
	for at := saved; at < len(log); {
		size := rapid.IntRange(1, min(most, len(log)-at)).Draw(r, "batch")
		foldInParts(ctx, r, bulk, log[at:at+size])
		at += size
		then := rapid.SampledFrom(style).Draw(r, "then")
		if at == len(log) {
			then = "save"
		}
		switch then {
		case "save":
			require.NoError(r, bulk.Save(ctx, uint64(at), nil))
			saved = at
		case "finish":
			require.NoError(r, bulk.Save(ctx, uint64(at), nil))
			saved = at
			require.NoError(r, bulk.Finish(ctx, rapid.Bool().Draw(r, "live")))
		case "give up":
			return saved
		}
	}
	return saved
}

// A row is found by the names that it came to have after it was put away: each
// event is a batch of its own, all of them one chunk.
func TestARowIsFoundByTheNamesThatItGotLater(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	for name, bodies := range map[string][]string{
		"a transaction": {
			`{"id":"e1","eventType":"checkout.completed","object":{"order":"o1","metadata":{"kind":"one_time","user_id":"u1","credits":100}}}`,
			`{"id":"e2","eventType":"checkout.completed","object":{"order":"o1","provider_payment_id":"t1","metadata":{"kind":"one_time","user_id":"u1","credits":100}}}`,
			`{"id":"e3","eventType":"refund.created","object":{"transaction":"t1"}}`,
		},
		"an order": {
			`{"id":"e1","eventType":"checkout.completed","object":{"provider_payment_id":"t1","metadata":{"kind":"one_time","user_id":"u1","credits":100}}}`,
			`{"id":"e2","eventType":"checkout.completed","object":{"order":"o1","provider_payment_id":"t1","metadata":{"kind":"one_time","user_id":"u1","credits":100}}}`,
			`{"id":"e3","eventType":"refund.created","object":{"order":"o1"}}`,
		},
		"a subscription that waits": {
			`{"id":"e1","eventType":"refund.created","object":{"transaction":{"id":"t1","amount_paid":5},"refund_amount":1}}`,
			`{"id":"e2","eventType":"subscription.paid","object":{"provider_payment_id":"t1","subscription":"s1","metadata":{"kind":"subscription","credits":10}}}`,
			`{"id":"e3","eventType":"subscription.active","object":{"subscription":"s1","metadata":{"user_id":"u1"}}}`,
		},
		"a user's licence": {
			`{"id":"e1","eventType":"refund.created","object":{"transaction":{"id":"t1","amount_paid":5},"refund_amount":1}}`,
			`{"id":"e2","eventType":"checkout.completed","object":{"provider_payment_id":"t1","metadata":{"kind":"pro","user_id":"u1"}}}`,
			`{"id":"e3","eventType":"checkout.completed","object":{"provider_payment_id":"t2","metadata":{"kind":"pro","user_id":"u1"}}}`,
			`{"id":"e4","eventType":"refund.created","object":{"transaction":"t2"}}`,
		},
		"a user's subscription": {
			`{"id":"e1","eventType":"subscription.active","object":{"subscription":"s1"}}`,
			`{"id":"e2","eventType":"subscription.active","object":{"subscription":"s1","metadata":{"user_id":"u1"}}}`,
			`{"id":"e3","eventType":"subscription.canceled","object":{"subscription":"s2","metadata":{"user_id":"u1"}}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			requireOneFold(ctx, t, s, anyMode, bodies)
		})
	}
}

// requireOneFold folds each body as a batch of its own, saves where one is empty and
// at the end, and requires the tables of one fold.
func requireOneFold(ctx context.Context, t *testing.T, s *Store, rules projections.Rules, bodies []string) {
	t.Helper()
	reset(ctx, t, s, rules)
	whole := projections.NewState()
	bulk, err := s.NewBulk(ctx, rules, 9, nil)
	require.NoError(t, err)
	defer bulk.Close()
	for i, body := range bodies {
		if body == "" {
			require.NoError(t, bulk.Save(ctx, uint64(i), nil))
			continue
		}
		e := event(t, uint64(i+1), body)
		rules.Fold(whole, e)
		require.NoError(t, bulk.Fold(ctx, []events.Event{e}))
	}
	require.NoError(t, bulk.Save(ctx, 9, nil))
	requireSameTables(ctx, t, s, whole)
}

// All lines that an event wrote come back, and a row that became shorter is written as it is.
func TestWhatAChunkTakesAndKeepsIsWhole(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	for name, bodies := range map[string][]string{
		"lines of one event": {
			`{"id":"e1","eventType":"checkout.completed","created_at":1767340000000,"object":{"provider_payment_id":"t1","metadata":{"kind":"subscription","key":"yearly","user_id":"u1"}}}`,
			``,
			`{"id":"e2","eventType":"refund.created","object":{"transaction":"t1"}}`,
		},
		"lines of a payment that was looked for without need of them": {
			`{"id":"e1","eventType":"checkout.completed","created_at":1767340000000,"object":{"provider_payment_id":"t1","metadata":{"kind":"one_time","key":"pack","user_id":"u1"}}}`,
			``,
			`{"id":"e2","eventType":"checkout.completed","created_at":1767340000000,"object":{"provider_payment_id":"t1","metadata":{"kind":"one_time","key":"pack","user_id":"u1"}}}`,
			`{"id":"e3","eventType":"refund.created","object":{"transaction":"t1"}}`,
		},
		"a shorter row": {
			`{"id":"e1","eventType":"subscription.scheduled_cancel","created_at":1767340000000,"object":{"subscription":"s1","current_period_end":"2026-02-01T00:00:00Z","metadata":{"user_id":"u1"}}}`,
			`{"id":"e2","eventType":"subscription.active","created_at":1767340001000,"object":{"subscription":"s1"}}`,
			`{"id":"e3","eventType":"subscription.unpaid","created_at":1767340002000,"object":{"subscription":"s1"}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			requireOneFold(ctx, t, s, sold, bodies)
		})
	}
}

// What was handed to the goroutine that writes is not written over by the next batch.
func TestRowsListedBeforeAResetRemainValid(t *testing.T) {
	t.Parallel()
	state := projections.NewState()
	anyMode.Fold(state, event(t, 1, pack("e1", "p1", "u1", 1)))
	anyMode.Fold(state, event(t, 2, pack("e1", "p1", "u1", 1)))
	lines, records, again := state.Ledger.Inserted(), state.Events.Inserted(), state.Duplicates
	wantLines, wantRecords, wantAgain := slices.Clone(lines), slices.Clone(records), slices.Clone(again)
	state.Reset()
	anyMode.Fold(state, event(t, 3, pack("e2", "p2", "u2", 2)))
	anyMode.Fold(state, event(t, 4, pack("e2", "p2", "u2", 2)))
	require.Equal(t, wantLines, lines)
	require.Equal(t, wantRecords, records)
	require.Equal(t, wantAgain, again)
}

// Two commands that finish the same tables do not get in each other's way.
func TestTwoMakeTheIndexesAtOnce(t *testing.T) {
	t.Parallel()
	ctx, live := setup(t)
	for round := range 10 {
		s, err := live.Beside(ctx, fmt.Sprintf("candidate_%d", round))
		require.NoError(t, err)
		defer s.Close()
		require.NoError(t, s.Prepare(ctx, "log-1", partitions, anyMode))
		var both errgroup.Group
		for range 2 {
			bulk, err := s.NewBulk(ctx, anyMode, 1, nil)
			require.NoError(t, err)
			defer bulk.Close()
			both.Go(func() error { return bulk.Finish(ctx, true) })
		}
		require.NoError(t, both.Wait())
		require.Equal(t, keysAndIndexes(ctx, t, live), strings.ReplaceAll(keysAndIndexes(ctx, t, s), s.schema+".", "portal."))
	}
}

// The session of a killed command that makes an index still is waited for.
func TestIndexesWaitForASessionThatWasLeftBehind(t *testing.T) {
	t.Parallel()
	ctx, live := setup(t)
	s := beside(ctx, t, live, 0)
	left, err := s.pool.Begin(ctx)
	require.NoError(t, err)
	_, err = left.Exec(ctx, "create index reversal_payment on reversal (provider_payment_id)")
	require.NoError(t, err)
	bulk, err := s.NewBulk(ctx, anyMode, 1, nil)
	require.NoError(t, err)
	defer bulk.Close()
	finished := make(chan error, 1)
	go func() { finished <- bulk.Finish(ctx, false) }()
	awaitWaiting(ctx, t, live, "relation = 'portal_next.reversal'::regclass")
	require.NoError(t, left.Commit(ctx))
	require.NoError(t, <-finished)
}

// awaitWaiting waits until somebody waits for such a lock.
func awaitWaiting(ctx context.Context, t *testing.T, s *Store, lock string) {
	t.Helper()
	wait.Until(t, func() bool {
		return number(ctx, t, s, "select count(*) from pg_locks where not granted and "+lock) > 0
	})
}

// An operator makes an index of his own, as docs/rebuild.md asks for, while the tables are prepared
// for a promotion: neither waits for the other for ever.
func TestAnIndexMadeConcurrentlyIsWaitedForWithoutADeadlock(t *testing.T) {
	t.Parallel()
	ctx, live := setup(t)
	s := beside(ctx, t, live, 0)
	// What holds the index up, and with it its lock, until all else waits for that.
	writer, err := s.pool.Begin(ctx)
	require.NoError(t, err)
	_, err = writer.Exec(ctx, "lock table processed_event in row exclusive mode")
	require.NoError(t, err)
	mine, prepared := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := s.pool.Exec(ctx, "create index concurrently mine on processed_event (outcome)")
		mine <- err
	}()
	awaitWaiting(ctx, t, live, "locktype = 'virtualxid'")
	go func() {
		bulk, err := s.NewBulk(ctx, anyMode, 1, nil)
		if err == nil {
			defer bulk.Close()
			err = errors.Join(s.Analyze(ctx), bulk.Finish(ctx, true))
		}
		prepared <- err
	}()
	awaitWaiting(ctx, t, live, "relation = 'portal_next.processed_event'::regclass and mode = 'ShareUpdateExclusiveLock'")
	require.NoError(t, writer.Commit(ctx))
	require.NoError(t, <-mine)
	require.NoError(t, <-prepared)
	require.EqualValues(t, 1, number(ctx, t, live, "select count(*) from pg_index where indexrelid = 'portal_next.mine'::regclass and indisvalid"))
}

// Live tables that an older build promoted without their keys get them.
func TestLiveTablesGetTheKeysTheyLack(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	want := keysAndIndexes(ctx, t, s)
	_, err := s.pool.Exec(ctx, "alter table payment drop constraint payment_transaction_id_key; drop index payment_pro; alter table duplicate_event drop constraint duplicate_event_pkey")
	require.NoError(t, err)
	require.NoError(t, s.Prepare(ctx, "log-1", partitions, anyMode))
	require.Equal(t, want, keysAndIndexes(ctx, t, s))
}
