package providers

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
)

// moneyStates are the states of a payment in the type that says so, of each provider that has one.
var moneyStates = map[*Provider]struct{ eventType, path, arrived, notYet string }{
	creem:        {"checkout.completed", "object.order.status", "paid", "pending"},
	stripe:       {"checkout.session.completed", "data.object.payment_status", "paid", "unpaid"},
	paddle:       {"transaction.completed", "data.status", "completed", "past_due"},
	polar:        {"order.paid", "data.status", "partially_refunded", "draft"},
	dodo:         {"payment.succeeded", "data.status", "succeeded", "requires_capture"},
	lemonSqueezy: {"order_created", "data.attributes.status", "partial_refund", "fraudulent"},
	payfold:      {"payment", "payment_status", "paid", "pending"},
}

// An event type that means a payment is not enough: if the body says that the money has not arrived, it has not.
func TestTheStateInTheBodySaysWhetherMoneyArrived(t *testing.T) {
	t.Parallel()
	for _, p := range All {
		if p == specification {
			continue // the specification names no such state
		}
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			c := moneyStates[p]
			for state, unpaid := range map[string]bool{c.arrived: false, c.notYet: true, "": false} {
				e := eventOf(t, p, c.eventType, map[string]any{c.path: state})
				require.Equal(t, []any{events.Payment, unpaid}, []any{e.Action, e.Unpaid}, "%q", state)
			}
		})
	}
}
