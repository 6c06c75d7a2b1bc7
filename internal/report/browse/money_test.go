package browse

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/live"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

func TestPurchasesThatGrantedNothingAreThereByProductWithTheirRepair(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	fixture.Reset(ctx, t, s, fixture.Sold)
	paid := func(id, tx, product, user, amount string) string {
		return `{"id":"` + id + `","eventType":"subscription.paid","object":{"last_transaction_id":"` + tx + `","product":"` + product +
			`","last_transaction":{"id":"` + tx + `","amount_paid":` + amount + `,"currency":"EUR"},"subscription":"s1","metadata":{` + user + `}}}`
	}
	var log []events.Event
	for i, body := range []string{
		paid("e1", "t1", "prod_1", `"user_id":"u1"`, "500"),
		paid("e2", "t2", "prod_2", `"user_id":"u2"`, "4900"),
		paid("e3", "t3", "prod_1", `"user_id":"u 3"`, "700"),
		paid("e4", "t3", "prod_1", `"user_id":"u 3"`, "700"),
		paid("e5", "t5", "prod_1", `"user_id":"u5"`, "9900"),
		strings.Replace(paid("e7", "t7", "prod_1", `"user_id":"u7"`, "90000"), "EUR", "JPY", 1),
		`{"id":"e6","eventType":"refund.created","object":{"transaction":{"id":"t5"}}}`,
	} {
		log = append(log, fixture.Event(t, uint64(i+1), body))
	}
	_, err := live.Apply(ctx, s, fixture.Sold, log, store.Advance{LogID: "log-1", From: fixture.From(0, 0), To: 7})
	require.NoError(t, err)
	got, err := running(ctx, t).Rejected(ctx, s)
	require.NoError(t, err)
	require.Len(t, got.Ungranted, 3)
	require.Equal(t, "JPY", got.Ungranted[2].Currency, "yen are not compared with euros")
	most, less := got.Ungranted[0], got.Ungranted[1]
	require.Equal(t, "prod_2", most.Product)
	require.Equal(t, Amounts{Currency: "EUR", Count: 1, Sum: SumOf(4900), Priced: 1}, most.Amounts)
	require.Equal(t, "prod_1", less.Product)
	require.Equal(t, Amounts{Currency: "EUR", Count: 2, Sum: SumOf(1200), Priced: 2}, less.Amounts, "t3 came twice, and t5 was refunded")
	require.Equal(t, "t3", less.Purchases[0].Payment, "the largest first")
	require.Equal(t, "u 3", less.Purchases[0].User)
	require.Contains(t, less.Catalogue, "prod_1: {kind: ")
}

func TestTodayIsWhatCameSinceTheDayBegan(t *testing.T) {
	t.Parallel()
	yesterday := fixture.Pack("e0", "p0", "u1", 7)
	ctx, s := setup(t, append([]string{yesterday}, shop...)...)
	got, err := figuresOf(ctx, s, receivedAt(2))
	require.NoError(t, err)
	require.True(t, got.Today.Complete)
	require.Equal(t, fixture.Number(ctx, t, s, "select count(*) from payment where provider_payment_id <> 'p0'"), got.Today.Payments)
	require.Equal(t, fixture.Number(ctx, t, s, "select sum(delta) from credit_ledger where entry = 'grant' and provider_payment_id <> 'p0'"), got.Today.Credits)
	require.EqualValues(t, 1, got.Today.Refunds)
	require.EqualValues(t, 1, got.Yesterday.Payments)
	require.EqualValues(t, 7, got.Yesterday.Credits)
	all, err := figuresOf(ctx, s, receivedAt(1))
	require.NoError(t, err)
	got, err = figuresOf(ctx, s, receivedAt(1).AddDate(0, 0, 1)) // all of it was yesterday
	require.NoError(t, err)
	require.Equal(t, all.Today, got.Yesterday)
	got, err = figuresOf(ctx, s, receivedAt(1000))
	require.NoError(t, err)
	require.Zero(t, got.Today.Payments+got.Today.Refunds+got.Today.Credits+got.Today.Subscriptions)
	require.Empty(t, got.Today.Money)
}

func TestTodaysMoneyIsThereByCurrency(t *testing.T) {
	t.Parallel()
	body := func(id, amount, currency string) string {
		return `{"id":"` + id + `","eventType":"checkout.completed","object":{"order":{"id":"o` + id + `","transaction":"t` + id + `","amount_paid":` + amount +
			`,"currency":"` + currency + `"},"metadata":{"kind":"one_time","user_id":"u1","credits":1}}}`
	}
	ctx, s := setup(t, body("1", "1000", "EUR"), body("2", "550", "EUR"), body("3", "2500", "JPY"))
	got, err := figuresOf(ctx, s, received)
	require.NoError(t, err)
	require.Equal(t, []MoneySum{{"EUR", json.Number("1550")}, {"JPY", json.Number("2500")}}, got.Today.Money)
}

func TestDisputesOfTheWeekAreAddedUp(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t,
		`{"id":"e1","eventType":"checkout.completed","object":{"order":{"id":"o1","transaction":"t1","amount_paid":1000,"currency":"EUR"},"metadata":{"kind":"one_time","user_id":"u1","credits":10}}}`,
		`{"id":"e2","eventType":"dispute.created","object":{"id":"d1","transaction":{"id":"t1"}}}`)
	for want, day := range map[int]time.Duration{1: time.Hour, 0: 8 * 24 * time.Hour} {
		err := s.View(ctx, func(ctx context.Context, tx pgx.Tx) error {
			got, err := readDisputes(ctx, tx, received.Add(day), window)
			require.NoError(t, err)
			require.Len(t, got, want)
			if want == 1 {
				require.Equal(t, Disputes{Amounts{Currency: "EUR", Count: 1, Sum: SumOf(1000), Priced: 1}, []string{"t1"}}, got[0])
			}
			return nil
		})
		require.NoError(t, err)
	}
}

// A page names the newest disputes, whatever their currency.
func TestTheNewestDisputesAreThoseOfAllCurrencies(t *testing.T) {
	t.Parallel()
	var log []string
	for n, currency := range []string{"GBP", "EUR", "USD", "EUR", "EUR", "USD", "EUR"} {
		log = append(log, fmt.Sprintf(`{"id":"p%d","eventType":"checkout.completed","object":{"order":{"id":"o%[1]d","transaction":"t%[1]d","amount_paid":1000,"currency":%q},
			"metadata":{"kind":"one_time","user_id":"u1","credits":10}}}`, n, currency),
			fmt.Sprintf(`{"id":"d%d","eventType":"dispute.created","object":{"id":"d%[1]d","transaction":{"id":"t%[1]d"}}}`, n))
	}
	ctx, s := setup(t, log...)
	err := s.View(ctx, func(ctx context.Context, tx pgx.Tx) error {
		got, err := readDisputes(ctx, tx, received.Add(time.Hour), window)
		require.NoError(t, err)
		named := map[string][]string{}
		for _, one := range got {
			named[one.Currency] = one.Payments
		}
		require.Equal(t, map[string][]string{"EUR": {"t6", "t4", "t3"}, "USD": {"t5", "t2"}, "GBP": {}}, named)
		return nil
	})
	require.NoError(t, err)
}

func TestNobodyOwesTablesThatAreNotLive(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t, shop...)
	err := s.View(ctx, func(ctx context.Context, tx pgx.Tx) error {
		got, err := readStanding(ctx, tx, Moment{Schema: "portal_prev"}, time.UTC)
		require.True(t, got.AllOwed)
		require.Zero(t, got.Debtors)
		return err
	})
	require.NoError(t, err)
}

func TestADisputeThatTheShopHasWonNeedsNobody(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t,
		`{"id":"e1","eventType":"checkout.completed","object":{"order":{"id":"o1","transaction":"t1","amount_paid":1000,"currency":"EUR"},"metadata":{"kind":"one_time","user_id":"u1","credits":10}}}`,
		`{"id":"e2","eventType":"dispute.created","object":{"id":"d1","transaction":{"id":"t1"}}}`,
		`{"id":"e3","eventType":"refund.created","object":{"id":"d1","status":"failed","transaction":{"id":"t1"}}}`)
	// Not every provider says how a dispute ends.
	_, err := s.Pool().Exec(ctx, "update reversal set cause = 'chargeback', occurred_at = occurred_at + interval '1 second' where event_id = 'e3'")
	require.NoError(t, err)
	require.EqualValues(t, 2, fixture.Number(ctx, t, s, "select count(*) from reversal where reversal_id = 'd1' and cause = 'chargeback'"))
	err = s.View(ctx, func(ctx context.Context, tx pgx.Tx) error {
		got, err := readDisputes(ctx, tx, received.Add(time.Hour), window)
		require.Empty(t, got)
		return err
	})
	require.NoError(t, err)
}

func TestWhatCustomersOweIsAddedUp(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t,
		`{"id":"e1","eventType":"checkout.completed","object":{"order":{"id":"o1","transaction":"t1","amount_paid":1000,"currency":"EUR"},"metadata":{"kind":"one_time","user_id":"u1","credits":10}}}`,
		`{"id":"e2","eventType":"subscription.paid","object":{"id":"s1","last_transaction_id":"t2","last_transaction":{"id":"t2","amount_paid":1900,"currency":"EUR"},"metadata":{"credits":10,"user_id":"u2"}}}`,
		`{"id":"e3","eventType":"subscription.past_due","object":{"id":"s1"}}`)
	_, err := s.Pool().Exec(ctx, "select wallet.spend('u1', 8, 'k1')")
	require.NoError(t, err)
	apply(ctx, t, s, 3, `{"id":"e4","eventType":"refund.created","object":{"transaction":{"id":"t1"}}}`)
	got, err := running(ctx, t).Standing(ctx, s)
	require.NoError(t, err)
	require.Empty(t, got.Fault)
	require.EqualValues(t, 1, got.Debtors)
	require.EqualValues(t, 8, got.Owed)
	require.Equal(t, []string{"u1"}, got.Owing)
	require.True(t, got.AllOwed)
	require.Equal(t, []Amounts{{Currency: "EUR", Count: 1, Sum: SumOf(1900), Priced: 1}}, got.PastDue)
}

func TestASilenceIsUnusualIfItIsLongerThanEveryPause(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t, packs(120)...)
	got, err := Overview(ctx, headOnly{}, s, 1)
	require.NoError(t, err)
	require.EqualValues(t, 120, got.Silence.Events)
	require.Equal(t, time.Minute, got.Silence.Longest)
	require.Equal(t, 119*time.Minute, got.Silence.Since.Sub(got.Silence.First))
	require.False(t, got.Silence.Unusual(got.Silence.Since.Add(5*time.Hour)), "two hours do not tell what is usual")
	got.Silence.First = got.Silence.Since.Add(-25 * time.Hour)
	require.True(t, got.Silence.Unusual(got.Silence.Since.Add(2*time.Hour)))
	require.False(t, got.Silence.Unusual(got.Silence.Since.Add(30*time.Minute)), "nobody needs to look")
	got.Silence.Events = 50
	require.False(t, got.Silence.Unusual(got.Silence.Since.Add(2*time.Hour)), "50 events do not tell what is usual")
}

func TestTheKeyOfACatalogueIsQuotedWhereYAMLWouldReadAnotherValue(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"prod_1": "prod_1", "123": `"123"`, "yes": `"yes"`, "a: b": `"a: b"`} {
		require.Equal(t, want, yamlKey(text))
	}
}
