package explain

import (
	"testing"

	"github.com/payfold/payfold/internal/events"
)

func refund(id, transaction string, r events.Reversal) event {
	if r.Cause == "" {
		r.Cause = events.Refund
	}
	if r.Status == "" {
		r.Status = events.Succeeded
	}
	return event{ID: id, Action: reversal, Transaction: transaction, Reversal: r}
}

func TestWhatAReversalDid(t *testing.T) {
	t.Parallel()
	requireSentences(t, map[string]tale{
		"a refund": {
			bare,
			logOf{paid, refund("e2", "t1", events.Reversal{Amount: number(250)})},
			"e2", "applied",
			"The refund takes back EUR 2.50. It took back 5 credits.",
		},
		"a refund of all": {
			bare,
			logOf{paid, refund("e2", "t1", events.Reversal{})},
			"e2", "applied",
			"The refund is of the whole payment. It took back 20 credits.",
		},
		"a refund of less than one credit": {
			bare,
			logOf{paid, refund("e2", "t1", events.Reversal{Amount: number(1)})},
			"e2", "applied",
			"The refund takes back EUR 0.01. It took back no credits: there were none, they had been taken back already, or its share is less than one credit.",
		},
		"a refund after a refund of all": {
			bare,
			logOf{paid, refund("e2", "t1", events.Reversal{}), refund("e3", "t1", events.Reversal{})},
			"e3", "applied",
			"The refund is of the whole payment. It took back no credits: there were none, or they had been taken back already.",
		},
		"a dispute with a total": {
			bare,
			logOf{paid, refund("e2", "t1", events.Reversal{Cause: events.Chargeback, Total: number(500), Paid: number(1000)})},
			"e2", "applied",
			"The chargeback says that the total taken back is EUR 5.00 of EUR 10.00 paid. It took back 10 credits.",
		},
		"a dispute in another currency": {
			bare,
			logOf{paid, refund("e2", "t1", events.Reversal{Cause: events.Chargeback, Amount: number(250), Currency: "USD"})},
			"e2", "applied",
			"The chargeback is of USD 2.50, which is another currency than that of the payment. So it takes back the whole payment. It took back 20 credits.",
		},
		"a refund before the payment": {
			bare,
			logOf{refund("e0", "t1", events.Reversal{}), paid},
			"e0", "applied",
			"The refund is of the whole payment. It took back 20 credits.",
		},
		"a refund of a payment that never comes": {
			bare,
			logOf{refund("e0", "t1", events.Reversal{})},
			"e0", "applied",
			"The refund is of the whole payment. No event says yet that its payment arrived. The refund takes effect when one does.",
		},
		"a refund of a payment without a user": {
			bare,
			logOf{nobodys, refund("e2", "t1", events.Reversal{})},
			"e2", "applied",
			"The refund is of the whole payment. Its payment grants nothing yet. The refund takes effect when it does.",
		},
		"a refund of a licence": {
			bare,
			logOf{key, refund("e2", "t1", events.Reversal{})},
			"e2", "applied",
			"The refund is of the whole payment. With it nothing of the payment is left, so the payment does not give a licence any more.",
		},
		"a second refund of a licence": {
			bare,
			logOf{key, refund("e2", "t1", events.Reversal{}), refund("e3", "t1", events.Reversal{})},
			"e3", "applied",
			"The refund is of the whole payment. The payment does not give a licence any more.",
		},
		"a part of a licence": {
			bare,
			logOf{with(key, func(e *event) { e.Amount = number(1000) }), refund("e2", "t1", events.Reversal{Amount: number(100)})},
			"e2", "applied",
			"The refund takes back 100 minor units (unknown currency). The licence stays, because a part of the payment is kept.",
		},
		"a licence that was refunded before": {
			bare,
			logOf{refund("e0", "t1", events.Reversal{}), key},
			"e1", "applied",
			"It says that payment t1 of user u1 arrived. The whole payment was taken back, so it gives no licence.",
		},
		"a pending refund": {
			bare,
			logOf{paid, refund("e2", "t1", events.Reversal{Status: events.Pending})},
			"e2", "ignored",
			"The provider reports it as pending, so nothing is taken back.",
		},
		"a failed refund": {
			bare,
			logOf{paid, refund("e2", "t1", events.Reversal{Status: events.Failed})},
			"e2", "ignored",
			"The provider reports it as failed, so nothing is taken back.",
		},
		"a refund that fails later": {
			bare,
			logOf{
				paid, refund("e2", "t1", events.Reversal{ID: "r1", Amount: number(500)}),
				refund("e3", "t1", events.Reversal{ID: "r1", Status: events.Failed, Amount: number(500)}),
			},
			"e3", "applied",
			"The refund is reported as failed now, so a correction gave back 10 credits.",
		},
		"the refund that failed later": {
			bare,
			logOf{
				paid, refund("e2", "t1", events.Reversal{ID: "r1", Amount: number(500)}),
				refund("e3", "t1", events.Reversal{ID: "r1", Status: events.Failed, Amount: number(500)}),
			},
			"e2", "applied",
			"The refund takes back EUR 5.00. It took back 10 credits. Of what reversals of the payment took back, corrections gave back 10 credits. By the provider's time e3 (2026-01-02 10:03:00Z) is newer, and says failed: so it takes nothing back now.",
		},
		"the refund of a licence that failed later": {
			bare,
			logOf{
				key, refund("e2", "t1", events.Reversal{ID: "r1"}),
				refund("e3", "t1", events.Reversal{ID: "r1", Status: events.Failed}),
			},
			"e2", "applied",
			"The refund is of the whole payment. By the provider's time e3 (2026-01-02 10:03:00Z) is newer, and says failed: so it takes nothing back now.",
		},
		"a refund of the first payment of a period": {
			shop,
			logOf{
				ofPeriod("e1", "t1", "month", 1), ofPeriod("e2", "t2", "month", 3), refund("e3", "t1", events.Reversal{}),
			},
			"e3", "applied",
			"The refund is of the whole payment. It took back 10 credits. The other payments of its period grant 10 credits more, because a payment that is wholly taken back does not count.",
		},
		"a success that is older than the failure": {
			bare,
			logOf{
				paid, refund("e2", "t1", events.Reversal{ID: "r1", Status: events.Failed}),
				with(refund("e3", "t1", events.Reversal{ID: "r1"}), func(e *event) { e.OccurredAt = minute(1) }),
			},
			"e3", "ignored",
			"The provider reports it as succeeded here. By the provider's time e2 (2026-01-02 10:02:00Z) is newer, and says failed: so nothing is taken back.",
		},
		"a refund without a payment": {
			bare,
			logOf{refund("e1", "", events.Reversal{})},
			"e1", "rejected missing_payment_id",
			"It names no transaction and no order, so a second event of the same payment could not be recognized. It took nothing back.",
		},
		"a refund of an unreadable amount": {
			bare,
			logOf{paid, refund("e2", "t1", events.Reversal{Amount: unreadable})},
			"e2", "rejected out_of_range",
			"A number in it is out of range: credits and units are whole numbers from 1 to 1,000,000,000,000, the amounts of a reversal are whole numbers of at least 0, and balances have a maximum. It took nothing back.",
		},
		"a refund of another provider": {
			bare,
			logOf{paid, with(refund("e2", "t1", events.Reversal{}), func(e *event) { e.Provider = "paddle" })},
			"e2", "rejected payment_conflict",
			"It names another user, another kind of purchase or another provider than its payment has. Payment t1 is of provider stripe. It changed nothing.",
		},
	})
}
