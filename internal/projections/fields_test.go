package projections

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
)

func TestTheCurrencyComesFromTheSamePlaceAsTheAmount(t *testing.T) {
	t.Parallel()
	for object, want := range map[string]string{
		`"order":{"id":"o1","amount_paid":5,"currency":"EUR"},"amount":7,"currency":"USD"`:             "5 EUR",
		`"order":{"id":"o1","amount_paid":5},"amount":7,"currency":"USD"`:                              "5 ",
		`"order":{"id":"o1","currency":"EUR"},"amount":7,"currency":"USD"`:                             "7 USD",
		`"order":{"id":"o1","amount_paid":null,"amount":6,"currency":"EUR"},"amount_paid":"8"`:         "8 ",
		`"last_transaction":{"id":"t1","amount_paid":5,"currency":"EUR"},"amount":7,"currency":"USD"`:  "5 EUR",
		`"last_transaction":{"id":"t1","amount_paid":5},"amount_paid":7,"currency":"USD","amount":"x"`: "5 ",
	} {
		payment, _ := fold(t, checkout("e1", object+`,`+pack)).Payments.Get("t1")
		require.NotNil(t, payment.Amount, object)
		require.Equal(t, want, fmt.Sprintf("%d %s", *payment.Amount, payment.Currency), object)
	}
}

func TestTheIDOfACheckoutIsNotASubscriptionID(t *testing.T) {
	t.Parallel()
	sold := `"id":"x1","provider_payment_id":"t1","metadata":{"kind":"subscription","user_id":"u1"}`
	for body, want := range map[string]string{paid("e1", sold): "x1", checkout("e1", sold): ImplicitSubscription("u1")} {
		_, ok := fold(t, body).Subscriptions.Get(want)
		require.True(t, ok, body)
	}
}

func TestPaymentsWithoutASubscriptionIDShareOneSubscription(t *testing.T) {
	t.Parallel()
	sold := `"metadata":{"kind":"subscription","user_id":"u1"}`
	s := fold(t, checkout("e1", `"provider_payment_id":"t1",`+sold), paid("e2", `"last_transaction_id":"t2",`+sold))
	require.Len(t, s.Subscriptions.Inserted(), 1)
	shown, _ := s.Current.Get("u1")
	require.Empty(t, shown.SubscriptionID)
	require.Equal(t, "t2", shown.ProviderPaymentID)
}

// The time of an event decides which event is the newest.
func TestTheTimeOfAnEventIsTheProvidersTime(t *testing.T) {
	t.Parallel()
	for created, want := range map[string]string{
		`1767348000000`:                    "01-02T10:00:00Z",
		`"2026-01-02T11:00:00.5+01:00"`:    "01-02T10:00:00Z",
		`"1767348000000"`:                  "01-02T10:00:00Z",
		`null`:                             "12-01T00:00:00Z",
		`"yesterday"`:                      "12-01T00:00:00Z",
		`946684799999`:                     "12-01T00:00:00Z", // the last millisecond of 1999
		`"2026-12-02T00:00:00Z"`:           "12-02T00:00:00Z",
		`"2026-12-02T00:00:00.000001Z"`:    "12-01T00:00:00Z",
		`"2026-12-02T00:00:00.000000999Z"`: "12-02T00:00:00Z",
	} {
		s := fold(t, `{"id":"e1","eventType":"checkout.completed","created_at":`+created+`,"object":{`+pack+`}}`)
		require.Equal(t, want, shown(s.Ledger.Inserted()[0].OccurredAt), created)
	}
}

// What a payment without the name of a subscription is for, only the payment itself says.
func TestTheProductOfAnImplicitSubscriptionIsThatOfItsPayment(t *testing.T) {
	t.Parallel()
	rules := Rules{Mode: ModeAny, Catalogue: catalogueOf("version: 1\nproducts:\n  plan: {kind: subscription, credits: 100}\n  plus: {kind: subscription, credits: 300}")}
	log := []events.Event{
		{ID: "e1", Action: events.Payment, UserID: "u1", Transaction: "t1", Recurring: true, ProductKey: "plan", OccurredAt: minuteOf(1)},
		{ID: "e2", Action: events.Subscription, UserID: "u1", Recurring: true, Status: events.Canceled, OccurredAt: minuteOf(2)},
		{ID: "e3", Action: events.Subscription, UserID: "u1", Recurring: true, Status: events.Active, Product: "plus", OccurredAt: minuteOf(3)},
	}
	for _, order := range orders(len(log)) {
		s := foldOrder(rules, log, order)
		row, _ := s.Subscriptions.Get(ImplicitSubscription("u1"))
		require.Equal(t, []string{events.Canceled, "plan"}, []string{row.Status, row.ProductKey}, order)
	}
}
