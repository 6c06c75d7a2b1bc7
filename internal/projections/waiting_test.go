package projections

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/catalogue"
)

const (
	unknownPaid = `"id":"s1","last_transaction_id":"t1","metadata":{"credits":50},
		"current_period_start_date":"2026-01-02T10:00:00Z","current_period_end_date":"2026-02-02T10:00:00Z"`
	start = `"order":"o1","product":"prod_1","subscription":"s1","metadata":{"kind":"subscription","user_id":"u1"}`
)

func TestAPaymentWaitsForTheUserOfItsSubscription(t *testing.T) {
	t.Parallel()
	requireTables(t, `
		processed_event event_id=e1 stream_seq=1 event_type=subscription.paid kind=subscription subscription_id=s1 provider_payment_id=t1 outcome=applied occurred_at=01-02T10:01:00Z received_at=12-01T00:00:00Z
		payment provider_payment_id=t1 transaction_id=t1 subscription_id=s1 kind=subscription credits=50 period_start=01-02T10:00:00Z period_end=02-02T10:00:00Z event_id=e1 occurred_at=01-02T10:01:00Z stream_seq=1 known=true
		subscription_state subscription_id=s1 status=active current_period_start=01-02T10:00:00Z current_period_end=02-02T10:00:00Z provider_payment_id=t1 started_at=01-02T10:01:00Z occurred_at=01-02T10:01:00Z event_id=e1 stream_seq=1
	`, fold(t, at(1, paid("e1", unknownPaid))))
}

func TestTheEventThatBringsTheUserClaimsThePaymentsThatWaited(t *testing.T) {
	t.Parallel()
	renewal := func(id, transaction string) string {
		return paid(id, `"id":"s1","last_transaction_id":"`+transaction+`","metadata":{"credits":50}`)
	}
	other := paid("e3", `"id":"s2","last_transaction_id":"t9","metadata":{"credits":50}`)
	for name, c := range map[string]struct{ brings, also string }{
		"a checkout that claims nothing": {checkout("e4", start), ""},
		"a later payment of it":          {paid("e4", `"id":"s1","last_transaction_id":"t4","metadata":{"user_id":"u1"}`), ""},
		"one that grants too": {
			paid("e4", `"id":"s1","last_transaction_id":"t4","metadata":{"user_id":"u1","credits":7}`),
			"e4 gives u1 7 subscription for t4",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := fold(t, at(2, renewal("e1", "t1")), at(1, renewal("e2", "t2")), other, c.brings)
			want := []string{"e1 gives u1 50 subscription for t1", "e2 gives u1 50 subscription for t2"}
			if c.also != "" {
				want = append(want, c.also)
			}
			require.ElementsMatch(t, want, grants(s))
			waits, _ := s.Payments.Get("t9")
			require.Empty(t, waits.UserID, "another subscription's payment still waits")
			for _, id := range []string{"t1", "t2"} {
				claimed, _ := s.Payments.Get(id)
				require.Equal(t, "u1", claimed.UserID)
			}
			again := foldInto(t, s, anyMode, paid("e5", `"id":"s1","last_transaction_id":"t1","metadata":{"user_id":"u1"}`))
			require.Equal(t, "duplicate_payment", outcomes(again)["e5"])
			require.Len(t, grants(again), len(want))
		})
	}
}

func TestAWaitingPaymentIsClaimedByALaterEventOfThePayment(t *testing.T) {
	t.Parallel()
	s := fold(t, at(2, paid("e1", unknownPaid)), at(1, checkout("e2",
		`"provider_payment_id":"t1","subscription":"s1","metadata":{"kind":"subscription","user_id":"u1","credits":9}`)))
	require.Equal(t, []string{"e2 gives u1 50 subscription for t1"}, grants(s))
	payment, _ := s.Payments.Get("t1")
	require.Equal(t, []string{"u1", "e2"}, []string{payment.UserID, payment.EventID})
}

func TestAnEventGetsTheUserOfItsSubscription(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		paid("e2", unknownPaid),
		checkout("e2", `"subscription":"s1","provider_payment_id":"t1","metadata":{"credits":50}`),
	} {
		s := fold(t, checkout("e1", start), body)
		require.Equal(t, []string{"e2 gives u1 50 subscription for t1"}, grants(s))
		row := recorded(t, s, "e2")
		require.Equal(t, []string{"u1", KindSubscription}, []string{row.UserID, row.Kind})
	}
}

func TestOnlyPaymentsOfASubscriptionWaitForTheirUser(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{KindOneTime, KindPro, KindSubscription} {
		s := fold(t, checkout("e1", ofKind(kind, `"provider_payment_id":"t1","metadata":{"kind":"x","credits":5}`)))
		require.Equal(t, map[string]string{"e1": "rejected missing_user"}, outcomes(s))
		waits := paid("e2", ofKind(kind, `"id":"s1","last_transaction_id":"t1","metadata":{"kind":"x","credits":5}`))
		for _, log := range [][]string{{waits, ofType("subscription.active", "e3", ofS1)}, {ofType("subscription.active", "e3", ofS1), waits}} {
			s = fold(t, log...)
			require.NotContains(t, outcomes(s)["e2"], "rejected", kind)
			payment, _ := s.Payments.Get("t1")
			require.Equal(t, []string{"u1", kind}, []string{payment.UserID, payment.Kind})
		}
	}
	s := fold(t, paid("e2", `"last_transaction_id":"t1"`))
	require.Equal(t, map[string]string{"e2": "rejected missing_user"}, outcomes(s), "a subscription without an id has no user to wait for")
}

// The checkout comes before, between or after the payments. The newest payment by the
// provider's time is shown.
func TestACheckoutMayComeBeforeOrAfterItsPaidEvents(t *testing.T) {
	t.Parallel()
	log := []string{
		at(0, checkout("start", start)), at(1, paid("first", unknownPaid)),
		at(30, paid("renewal", `"id":"s1","product":"prod_2","last_transaction":{"id":"t2","order":"o2","amount_paid":5,"currency":"EUR"},
			"metadata":{"credits":60},"current_period_start_date":"2026-02-02T10:00:00Z","current_period_end_date":"2026-03-02T10:00:00Z"`)),
	}
	want := withoutPlaces(fold(t, log...))
	require.Len(t, want, 6)
	for _, order := range [][]int{{0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		s := fold(t, log[order[0]], log[order[1]], log[order[2]])
		require.ElementsMatch(t, want, withoutPlaces(s), "order %v", order)
	}
}

var place = regexp.MustCompile(` stream_seq=\d+`)

// withoutPlaces returns all rows except the records of events, without their sequences.
func withoutPlaces(s *State) []string {
	var rows []string
	for _, row := range tables(s) {
		if !strings.HasPrefix(row, "processed_event") {
			rows = append(rows, place.ReplaceAllString(row, ""))
		}
	}
	return rows
}

// The credits of a payment and their months come from one offer, even if another offer is in
// force when the user becomes known.
func TestAPaymentThatWaitedIsGrantedUnderItsOwnOffer(t *testing.T) {
	t.Parallel()
	catalogue, err := catalogue.Parse([]byte(`
version: 1
products:
  yearly:
    - {kind: subscription, credits: 100, drip: monthly, months: 12}
    - {from: 2026-02-01, kind: subscription, credits: 100, drip: monthly, months: 7}
  later:
    - {kind: subscription}
    - {from: 2026-02-01, kind: subscription, credits: 5, drip: monthly, months: 12}
`))
	require.NoError(t, err)
	const before, after = "2026-01-31T23:59:59Z", "2026-02-01T00:00:01Z"
	when := func(moment, body string) string {
		return `{"created_at":"` + moment + `",` + strings.TrimPrefix(body, "{")
	}
	waits := func(id, product, moment string) string {
		return when(moment, paid(id, `"id":"s1","last_transaction_id":"t1","product":"`+product+`"`))
	}
	user := func(product string) string {
		return when(after, checkout("e9", `"subscription":"s1","provider_payment_id":"t1","product":"`+product+`","metadata":{"kind":"subscription","user_id":"u1"}`))
	}
	for name, c := range map[string]struct {
		bodies       []string
		lines, first int64
	}{
		"the user comes under another offer":            {[]string{waits("e1", "yearly", before), user("yearly")}, 12, 100},
		"the user comes with another product":           {[]string{waits("e1", "yearly", before), user("later")}, 12, 100},
		"the credits come with the user":                {[]string{waits("e1", "later", before), user("later")}, 12, 5},
		"the credits come between, under a later offer": {[]string{waits("e1", "later", before), waits("e2", "later", after), user("later")}, 12, 5},
		"both come under the newer offer":               {[]string{waits("e1", "yearly", after), user("yearly")}, 7, 100},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := foldInto(t, NewState(), Rules{Mode: ModeAny, Catalogue: catalogue}, c.bodies...)
			lines, sum := s.Ledger.Inserted(), int64(0)
			require.Len(t, lines, int(c.lines))
			for _, line := range lines {
				sum += line.Delta
			}
			payment, _ := s.Payments.Get("t1")
			require.Equal(t, *payment.Credits, sum)
			require.Equal(t, c.first, lines[0].Delta)
		})
	}
}

func TestCreditsAreSharedInWholeNumbers(t *testing.T) {
	t.Parallel()
	seven := int64(7)
	c := claimed{Payment: &Payment{UserID: "u1"}, sale: sale{credits: &seven, months: 3}}
	require.Equal(t, []int64{3, 2, 2}, []int64{c.dues()[0].credits, c.dues()[1].credits, c.dues()[2].credits})
}

// The kind of a payment that waits is only implied.
func TestAPaymentThatWaitsGetsTheKindOfItsCheckout(t *testing.T) {
	t.Parallel()
	waits := paid("e1", `"id":"s1","last_transaction_id":"t1"`)
	bought := func(kind string) string {
		return checkout("e2", `"order":{"id":"o1","transaction":"t1"},"subscription":{"id":"s1"},"metadata":{"kind":"`+kind+`","user_id":"u1","credits":200}`)
	}
	require.EqualValues(t, 200, balanceOf(t, fold(t, waits, bought("one_time")), "u1"))
	s := fold(t, waits, bought("pro"))
	license, _ := s.Licenses.Get("u1")
	require.Equal(t, "active", license.Status)
	other := foldInto(t, s, anyMode, checkout("e3", `"provider_payment_id":"t1","metadata":{"kind":"one_time","user_id":"u1","credits":200}`))
	require.Equal(t, "rejected payment_conflict", outcomes(other)["e3"], "a claimed payment keeps its kind")
}
