package store

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
)

// shop draws the bodies of a small shop in which everything meets: few users,
// payments, orders and subscriptions, missing fields, repeated events.
func shop(t *rapid.T) []string {
	pick := func(label string, choices ...string) string { return rapid.SampledFrom(choices).Draw(t, label) }
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
		id := rapid.IntRange(1, 30).Draw(t, "id")
		fields := []string{
			pick("user", `"user_id":"u1"`, `"user_id":"u2"`, `"user_id":null`),
			pick("kind", `"kind":"one_time"`, `"kind":"subscription"`, `"kind":"pro"`, `"kind":null`, `"kind":"other"`),
			pick("product", `"key":"pack"`, `"key":"yearly"`, `"key":"licence"`, `"key":"none"`, `"key":null`),
			pick("credits", `"credits":10`, `"credits":"7"`, `"credits":null`, `"credits":1e400`, `"credits":0`),
		}
		object := []string{
			`"metadata":{` + strings.Join(fields, ",") + `}`,
			pick("transaction", `"provider_payment_id":"t1"`, `"provider_payment_id":"t2"`, `"provider_payment_id":"o1"`, `"provider_payment_id":null`, `"provider_payment_id":null`),
			pick("order", `"order":"o1"`, `"order":{"id":"o2","amount_paid":5,"currency":"EUR"}`, `"order":{"id":"o1","transaction":"t1","amount_paid":7}`,
				`"order":{"id":"o2","amount_due":9,"amount_paid":0}`, `"order":"t1"`, `"order":null`),
			pick("last", `"last_transaction":{"id":"t3","order":"o2","amount_paid":9}`, `"last_transaction_id":"t3"`, `"x":1`, `"x":2`, `"x":3`),
			pick("customer", `"customer":{"id":"c","external_id":"u1"}`, `"customer":"c"`, `"customer":null`),
			pick("subscription", `"subscription":"s1"`, `"subscription":{"id":"s2"}`, `"subscription":null`),
			pick("reversed", `"transaction":{"id":"t1","amount_paid":5,"refunded_amount":2}`, `"transaction":{"id":"t2","refunded_amount":5}`,
				`"transaction":"t1"`, `"transaction":null`),
			pick("amount", `"refund_amount":1`, `"amount":3`, `"amount":null`, `"amount":-1`),
			pick("status", `"status":"active"`, `"status":"pending"`, `"status":"succeeded"`, `"status":"requiresAction"`, `"status":null`),
			pick("period", `"current_period_end":"2026-02-01T00:00:00Z"`, `"current_period_end":null`),
		}
		eventType := pick("type", "checkout.completed", "checkout.completed", "subscription.paid", "subscription.paid", "customer.created",
			"refund.created", "refund.created", "dispute.created", "subscription.update", "subscription.canceled", "subscription.past_due")
		created := rapid.IntRange(0, 5).Draw(t, "time")
		return fmt.Sprintf(`{"id":"e%d","eventType":%q,"created_at":%d,"object":{%s}}`,
			id, eventType, 1767340000000+created*1000, strings.Join(object, ","))
	}), 1, 40).Draw(t, "bodies")
}

// sold is a shop with a catalogue: a pack, a plan that drips, a licence.
var sold = projections.Rules{Mode: projections.ModeAny, Catalogue: catalogue(`
version: 1
products:
  pack: {kind: one_time, credits: 25}
  yearly: [{kind: subscription, credits: 3, drip: monthly, months: 3, valid_months: 1}, {from: 2026-01-02T07:46:42Z, kind: subscription, credits: 4}]
  licence: {kind: pro}
`)}

func catalogue(text string) *projections.Catalogue {
	c, err := projections.ParseCatalogue([]byte(text))
	if err != nil {
		panic(err)
	}
	return c
}

// Whatever the events and however they are split into batches, the tables are
// those of one fold from the start, and no money appears or disappears.
func TestAnyBatchesGiveTheTablesOfOneFold(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	rapid.Check(t, func(r *rapid.T) {
		rules := rapid.SampledFrom([]projections.Rules{anyMode, anyMode, sold}).Draw(r, "rules")
		reset(ctx, t, s, rules)
		log, whole := oneFold(t, rules, shop(r))
		position := uint64(0)
		for rest := log; len(rest) > 0; {
			size := rapid.IntRange(1, len(rest)).Draw(r, "batch")
			to := rest[size-1].Seq
			_, err := s.Apply(ctx, rules, rest[:size], Advance{LogID: "log-1", From: from(0, position), To: to})
			require.NoError(t, err)
			_, err = s.Apply(ctx, rules, rest[:size], Advance{LogID: "log-1", From: from(0, position), To: to})
			require.ErrorIs(t, err, ErrFenced, "the same batch again")
			position, rest = to, rest[size:]
		}
		requireSameTables(ctx, r, s, whole)
		requireSound(ctx, r, s, len(log))
	})
}

// oneFold is the log of the bodies, and all of it folded into one state.
func oneFold(t *testing.T, rules projections.Rules, bodies []string) (log []events.Event, whole *projections.State) {
	t.Helper()
	whole = projections.NewState()
	for i, body := range bodies {
		log = append(log, event(t, uint64(i+1), body))
		rules.Fold(whole, log[i])
	}
	return log, whole
}

func reset(ctx context.Context, t *testing.T, s *Store, rules projections.Rules) {
	_, err := s.pool.Exec(ctx, "update payfold.schema_state set fold_id = $1", rules.FoldID())
	require.NoError(t, err)
	_, err = s.pool.Exec(ctx, `truncate processed_event, duplicate_event, credit_ledger, payment, subscription_state,
		subscription, credits, pro_license, reversal; update checkpoint set position = 0`)
	require.NoError(t, err)
}

func requireSameTables(ctx context.Context, t require.TestingT, s *Store, whole *projections.State) {
	requireRows(ctx, t, s, "processed_event", whole.Events.Inserted())
	requireRows(ctx, t, s, "duplicate_event", whole.Duplicates)
	requireRows(ctx, t, s, "credit_ledger", whole.Ledger.Inserted())
	requireRows(ctx, t, s, "reversal", whole.Reversals.Inserted())
	requireRows(ctx, t, s, "payment", whole.Payments.Inserted())
	requireRows(ctx, t, s, "subscription_state", whole.Subscriptions.Inserted())
	requireRows(ctx, t, s, "subscription", whole.Current.Inserted())
	requireRows(ctx, t, s, "credits", whole.Credits.Inserted())
	requireRows(ctx, t, s, "pro_license", whole.Licenses.Inserted())
}

func requireRows[R any](ctx context.Context, t require.TestingT, s *Store, table string, want []R) {
	rows, err := s.pool.Query(ctx, "select "+names(columnsOf[R]())+" from "+table)
	require.NoError(t, err)
	have, err := pgx.CollectRows(rows, scan[R])
	require.NoError(t, err)
	require.Equal(t, printed(want), printed(have), table)
}

func printed[R any](rows []R) []string {
	out := make([]string, len(rows))
	for i, row := range rows {
		value := reflect.ValueOf(row)
		var fields []string
		for j := range value.NumField() {
			field := value.Field(j)
			if field.Kind() == reflect.Pointer && !field.IsNil() {
				field = field.Elem()
			}
			fields = append(fields, fmt.Sprintf("%s=%v", value.Type().Field(j).Name, field.Interface()))
		}
		out[i] = strings.Join(fields, " ")
	}
	slices.SortFunc(out, cmp.Compare[string])
	return out
}

func requireSound(ctx context.Context, t require.TestingT, s *Store, messages int) {
	frozen, err := s.Snapshot(ctx)
	require.NoError(t, err)
	defer frozen.Close()
	sums, err := frozen.Sums(ctx)
	require.NoError(t, err)
	for _, sum := range sums {
		require.Zero(t, sum.Wrong, sum.Rule)
	}
	var rows int
	require.NoError(t, s.pool.QueryRow(ctx,
		"select (select count(*) from processed_event) + (select count(*) from duplicate_event)").Scan(&rows))
	require.Equal(t, messages, rows, "every message is accounted for")
}
