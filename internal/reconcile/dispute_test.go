package reconcile_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/reconcile"
	"github.com/payfold/payfold/internal/testenv/payapi"
)

// dispute is one of a payment in EUR, in that currency.
func dispute(of made, n int, amount int64, currency string, at time.Time) made {
	o := object{
		"id": fmt.Sprintf("du_%d", n), "object": "dispute", "amount": amount, "currency": currency, "status": "needs_response",
		"payment_intent": of.Events[1].Object["payment"].(object)["payment_intent"], "created": at.Unix(), "livemode": true,
	}
	return made{List: "/v1/disputes", Object: o, At: at, Events: []payapi.Sent{{Type: "charge.dispute.created", Object: o}}}
}

// The bank of a buyer names the amount in the currency of the buyer's account.
func TestADisputeIsComparedInItsOwnCurrency(t *testing.T) {
	t.Parallel()
	euros, dollars := reconcile.Side{Amount: new(int64(1200)), Currency: "EUR"}, reconcile.Side{Amount: new(int64(1390)), Currency: "USD"}
	nothing := reconcile.Side{Currency: "EUR"}
	for name, c := range map[string]struct {
		has, sent        string // the currency at the provider, and of the event; empty: none
		more             int64  // that the provider has
		what             reconcile.What
		provider, tables reconcile.Side
	}{
		"both have it":                  {has: "usd", sent: "usd"},
		"the tables do not know it":     {has: "usd", what: reconcile.MissingRefund, provider: dollars, tables: nothing},
		"the provider does not know it": {sent: "usd", what: reconcile.UnknownRefund, tables: dollars},
		"another amount": {
			has: "usd", sent: "usd", more: 10, what: reconcile.OtherRefund,
			provider: reconcile.Side{Amount: new(int64(1400)), Currency: "USD"}, tables: dollars,
		},
		"in the currency of the payment": {has: "eur", what: reconcile.MissingRefund, provider: euros, tables: nothing},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, "stripe")
			var sold []made
			for n := range 12 {
				sold = append(sold, s.Payment(n, 1200, s.now.Add(-15*aDay+time.Duration(n)*time.Minute)))
			}
			s.sells(t, sold...)
			of := func(currency string) made {
				amount := map[string]int64{"eur": 1200, "usd": 1390}[currency]
				return dispute(sold[3], 1, amount, currency, s.now.Add(-5*aDay))
			}
			if c.sent != "" {
				s.deliver(t, of(c.sent))
				s.apply(t)
			}
			if c.has != "" {
				one := of(c.has)
				one.Object["amount"] = one.Object["amount"].(int64) + c.more
				s.Has(one)
			}
			if c.what == "" {
				require.True(t, s.compare(t).Holds())
				return
			}
			d := requireOne(t, s.compare(t), c.what)
			d.Provider.Status, d.Tables.Status = "", ""
			require.Equal(t, []reconcile.Side{c.provider, c.tables}, []reconcile.Side{d.Provider, d.Tables})
			require.Equal(t, "u_3", d.User)
		})
	}
}

// What was refunded of the payment in all is in another currency, so it says nothing of the dispute.
func TestATotalDoesNotHaveADisputeInAnotherCurrency(t *testing.T) {
	t.Parallel()
	s := newShop(t, "stripe")
	var sold []made
	for n := range 12 {
		sold = append(sold, s.Payment(n, 1200, s.now.Add(-15*aDay+time.Duration(n)*time.Minute)))
	}
	s.sells(t, sold...)
	lost, at := dispute(sold[3], 1, 900, "usd", s.now.Add(-5*aDay)), s.now.Add(-4*aDay)
	charge := object{
		"id": "ch_3", "object": "charge", "payment_intent": lost.Object["payment_intent"], "amount_captured": 1200, "amount_refunded": 1000,
		"currency": "eur", "livemode": true,
	}
	s.deliver(t, made{At: at, Events: []payapi.Sent{{Type: "charge.refunded", Object: charge}}})
	s.apply(t)
	s.Has(lost)
	d := requireOne(t, s.compare(t), reconcile.MissingRefund)
	require.Equal(t, "USD", d.Provider.Currency)
	require.EqualValues(t, 900, *d.Provider.Amount)
}
