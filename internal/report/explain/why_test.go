package explain

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
)

func TestEveryReasonAndEveryNoteIsExplained(t *testing.T) {
	t.Parallel()
	require.Len(t, reasons, len(projections.Reasons))
	for _, reason := range projections.Reasons {
		require.NotEmpty(t, reasons[reason], reason)
		require.Equal(t, reasons[reason], Meaning(string(reason)))
	}
	require.Contains(t, why(projections.ProcessedEvent{Outcome: "rejected", Reason: "a_new_one"}, newRelated()), "a_new_one")
	require.Len(t, notes, len(projections.Notes))
	for _, note := range projections.Notes {
		require.NotEmpty(t, NoteMeaning(string(note)), note)
	}
	require.Empty(t, NoteMeaning(""))
}

type (
	event = events.Event
	logOf = []events.Event
)

const (
	payment, checkout, lifecycle, reversal = events.Payment, events.Checkout, events.Subscription, events.Reverse

	subscription, pack, licence = projections.KindSubscription, projections.KindOneTime, projections.KindPro
)

// tale is a log, one of its events, and what must be said of it.
type tale struct {
	rules     projections.Rules
	log       logOf
	of        string
	is, means string // outcome with reason and note; the sentences
}

// What most histories have.
var (
	paid     = event{ID: "e1", Action: payment, Transaction: "t1", UserID: "u1", Kind: pack, Credits: number(20), Amount: number(1000), Currency: "EUR"}
	monthly  = event{ID: "e1", Action: payment, Transaction: "t1", SubscriptionID: "s1", Kind: subscription, UserID: "u1", Credits: number(5)}
	nobodys  = event{ID: "e1", Action: payment, Transaction: "t1", SubscriptionID: "s1", Kind: subscription, Credits: number(5)}
	key      = event{ID: "e1", Action: payment, Transaction: "t1", UserID: "u1", Kind: licence}
	rented   = event{ID: "e1", Action: payment, Transaction: "t1", SubscriptionID: "s1", UserID: "u1", Product: "rented"}
	canceled = event{ID: "e2", Action: lifecycle, SubscriptionID: "s1", Status: "canceled", OccurredAt: minute(50)}
)

// ofPeriod is a payment of so many units of a product, for the period that all of them pay for.
func ofPeriod(id, transaction, product string, units int64) event {
	return event{
		ID: id, Action: payment, Transaction: transaction, SubscriptionID: "s1", UserID: "u1", Product: product, Units: number(units),
		PeriodStart: minute(0), PeriodEnd: minute(90),
	}
}

func with(e event, change func(*event)) event {
	change(&e)
	return e
}

// requireSentences folds each log, and reads the sentences about its event.
func requireSentences(t *testing.T, tales map[string]tale) {
	t.Helper()
	for name, c := range tales {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			told := tell(c.rules, c.log...)
			e := told.event(t, c.of)
			require.Equal(t, c.is, strings.Join(strings.Fields(e.Outcome+" "+e.Reason+" "+e.Note), " "))
			require.Equal(t, c.means, why(e, told.rows))
		})
	}
}
