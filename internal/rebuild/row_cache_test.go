package rebuild

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

// A candidate begins without an index. However it is folded, with whatever names,
// it ends with the rows of one fold and with the indexes of the live tables.
func TestACandidateBecomesTheTablesOfOneFold(t *testing.T) {
	t.Parallel()
	ctx, live := fixture.Tables(t)
	s, err := live.OpenSchema(ctx, "candidate")
	require.NoError(t, err)
	defer s.Close()
	want := fixture.KeysAndIndexes(ctx, t, live)
	rapid.Check(t, func(r *rapid.T) {
		rules := rapid.SampledFrom([]projections.Rules{fixture.AnyMode, fixture.WithRevenue, fixture.Sold}).Draw(r, "rules")
		_, err := live.Pool().Exec(ctx, "drop schema if exists candidate cascade; delete from payfold.schema_state where schema_name = 'candidate'; delete from payfold.quarantined_event")
		require.NoError(r, err)
		require.NoError(r, s.Prepare(ctx, "log-1", fixture.Partitions, rules))
		bodies := fixture.Bodies(r)
		if len(rules.Extras) == 0 && rapid.Bool().Draw(r, "namesakes") { // whose amounts revenue_daily refuses
			bodies = namesakes(r)
		}
		log, whole := fixture.OneFold(t, rules, bodies)
		for saved := 0; saved < len(log); {
			saved = foldInStyle(ctx, r, s, rules, log, saved)
		}
		finish(ctx, r, s, rules)
		fixture.RequireTablesOf(ctx, r, s, whole)
		fixture.RequireSound(ctx, r, s, len(log))
		if len(rules.Extras) > 0 {
			fixture.RequireRows(ctx, r, s, tables.RevenueByDay, whole.Revenue.Inserted())
			return
		}
		require.Equal(r, want, strings.ReplaceAll(fixture.KeysAndIndexes(ctx, r, s), "candidate.", "portal."))
	})
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
func foldInStyle(ctx context.Context, r *rapid.T, s *store.Store, rules projections.Rules, log []events.Event, saved int) int {
	until := rapid.SampledFrom([]int{0, saved, len(log), len(log) * 20}).Draw(r, "until")
	bulk, err := NewBulk(ctx, s, rules, uint64(until), nil)
	require.NoError(r, err)
	defer bulk.Close()
	bulk.known.exact = bulk.known.exact && rapid.Bool().Draw(r, "knows places")
	if rapid.Bool().Draw(r, "little memory") {
		bulk.known.memory = rapid.IntRange(0, 5_000).Draw(r, "memory")
	}
	most := rapid.SampledFrom([]int{1, 1, 2, 5, 60}).Draw(r, "most")
	style := rapid.SampledFrom([][]string{{"go on"}, {"go on", "go on", "go on", "go on", "save"}, {"go on", "save"}, {"go on", "go on", "save", "give up", "finish"}}).Draw(r, "style")
	next := logReader{bulk: bulk, log: log, read: saved}
	for at := saved; at < len(log); {
		at += next.foldNext(ctx, r, most)
		requirePlaces(ctx, r, s, bulk)
		then := rapid.SampledFrom(style).Draw(r, "then")
		if at == len(log) {
			then = "save"
		}
		switch then {
		case "save":
			require.NoError(r, bulk.Save(ctx, uint64(at), nil))
			saved = at
			if rapid.IntRange(0, 9).Draw(r, "vacuum") == 9 {
				_, err := s.Pool().Exec(ctx, rapid.SampledFrom([]string{"vacuum payment", "vacuum full payment"}).Draw(r, "how"))
				require.NoError(r, err)
			}
		case "finish":
			require.NoError(r, bulk.Save(ctx, uint64(at), nil))
			saved = at
			require.NoError(r, bulk.Finish(ctx, rapid.SampledFrom([]tables.Stage{tables.Complete, tables.InUse}).Draw(r, "stage")))
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
	ctx, s := fixture.Tables(t)
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
		"a user's licences, of which the cache has made the newest": {
			`{"id":"e1","eventType":"checkout.completed","created_at":1767340001000,"object":{"provider_payment_id":"t1","metadata":{"kind":"pro","user_id":"u1"}}}`,
			``,
			`{"id":"e3","eventType":"checkout.completed","created_at":1767340003000,"object":{"provider_payment_id":"t2","metadata":{"kind":"pro","user_id":"u1"}}}`,
			`{"id":"e4","eventType":"refund.created","object":{"transaction":"t2"}}`,
		},
		"a user's licences, of which the last one ends": {
			`{"id":"e1","eventType":"checkout.completed","created_at":1767340001000,"object":{"provider_payment_id":"t1","metadata":{"kind":"pro","user_id":"u1"}}}`,
			`{"id":"e2","eventType":"checkout.completed","created_at":1767340002000,"object":{"provider_payment_id":"t2","metadata":{"kind":"pro","user_id":"u1"}}}`,
			``,
			`{"id":"e4","eventType":"refund.created","object":{"transaction":"t2"}}`,
			``,
			`{"id":"e6","eventType":"refund.created","object":{"transaction":"t1"}}`,
			``,
			`{"id":"e8","eventType":"checkout.completed","created_at":1767340000000,"object":{"provider_payment_id":"t3","metadata":{"kind":"pro","user_id":"u1"}}}`,
		},
		"a user's subscription": {
			`{"id":"e1","eventType":"subscription.active","object":{"subscription":"s1"}}`,
			`{"id":"e2","eventType":"subscription.active","object":{"subscription":"s1","metadata":{"user_id":"u1"}}}`,
			`{"id":"e3","eventType":"subscription.canceled","object":{"subscription":"s2","metadata":{"user_id":"u1"}}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			requireOneFold(ctx, t, s, fixture.AnyMode, bodies)
		})
	}
}

// requireOneFold folds each body as a batch of its own, saves where one is empty and
// at the end, and requires the tables of one fold.
func requireOneFold(ctx context.Context, t *testing.T, s *store.Store, rules projections.Rules, bodies []string) {
	t.Helper()
	for _, byPlaces := range []bool{false, true} {
		requireOneFoldFinding(ctx, t, s, rules, bodies, byPlaces)
	}
}

// requireOneFoldFinding finds rows by their places or by indexes.
func requireOneFoldFinding(ctx context.Context, t *testing.T, s *store.Store, rules projections.Rules, bodies []string, byPlaces bool) {
	t.Helper()
	fixture.Reset(ctx, t, s, rules)
	whole := projections.NewState()
	bulk, err := NewBulk(ctx, s, rules, 9, nil)
	require.NoError(t, err)
	defer bulk.Close()
	require.True(t, bulk.known.exact)
	bulk.known.exact = byPlaces
	for i, body := range bodies {
		if body == "" {
			require.NoError(t, bulk.Save(ctx, uint64(i), nil))
			continue
		}
		e := fixture.Event(t, uint64(i+1), body)
		rules.Fold(whole, e)
		require.NoError(t, fixture.Fold(ctx, bulk, []events.Event{e}))
	}
	require.NoError(t, bulk.Save(ctx, 9, nil))
	fixture.RequireTablesOf(ctx, t, s, whole)
}

// All lines that an event wrote come back, and a row that became shorter is written as it is.
func TestWhatAChunkTakesAndKeepsIsWhole(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
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
			requireOneFold(ctx, t, s, fixture.Sold, bodies)
		})
	}
}

// What was handed to the goroutine that writes is not written over by the next batch.
func TestRowsListedBeforeAResetRemainValid(t *testing.T) {
	t.Parallel()
	state := projections.NewState()
	fixture.AnyMode.Fold(state, fixture.Event(t, 1, fixture.Pack("e1", "p1", "u1", 1)))
	fixture.AnyMode.Fold(state, fixture.Event(t, 2, fixture.Pack("e1", "p1", "u1", 1)))
	lines, records, again := state.Ledger.Inserted(), state.Events.Inserted(), state.Duplicates
	wantLines, wantRecords, wantAgain := slices.Clone(lines), slices.Clone(records), slices.Clone(again)
	state.Reset()
	fixture.AnyMode.Fold(state, fixture.Event(t, 3, fixture.Pack("e2", "p2", "u2", 2)))
	fixture.AnyMode.Fold(state, fixture.Event(t, 4, fixture.Pack("e2", "p2", "u2", 2)))
	require.Equal(t, wantLines, lines)
	require.Equal(t, wantRecords, records)
	require.Equal(t, wantAgain, again)
}
