package explain

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/projections"
)

func TestEveryReasonIsExplained(t *testing.T) {
	t.Parallel()
	require.Len(t, reasons, len(projections.Reasons))
	for _, reason := range projections.Reasons {
		require.NotEmpty(t, reasons[reason], reason)
		require.Equal(t, reasons[reason]+" It changed nothing.", why(projections.ProcessedEvent{Outcome: "rejected", Reason: string(reason)}, related{}))
	}
	require.Contains(t, why(projections.ProcessedEvent{Outcome: "rejected", Reason: "a_new_one"}, related{}), "a_new_one")
}

// As the runbook does: a constraint that somebody added is the usual cause.
func TestAnEventThatTheDatabaseRefusesBlamesNotOnlyPayfold(t *testing.T) {
	t.Parallel()
	require.Contains(t, Meaning(string(projections.Internal)), "Somebody has changed something in the database, or")
}

func TestAnExplanationSaysOnlyWhatTheRowsProve(t *testing.T) {
	t.Parallel()
	amount, paid := int64(100), int64(101)
	payment := func(p projections.Payment) related {
		p.ProviderPaymentID = "p1"
		return related{Payments: map[string]projections.Payment{"p1": p}}
	}
	reversal := func(p projections.Payment, r projections.Reversal, wrote int64) related {
		related := payment(p)
		related.Reversals, related.Wrote = map[string]projections.Reversal{"e1": r}, map[string]int64{"e1": wrote}
		return related
	}
	claimed := projections.Payment{UserID: "u1", Kind: projections.KindPro}
	for want, c := range map[string]struct {
		e       projections.ProcessedEvent
		related related
	}{
		"It set the subscription's state. It claimed no payment itself; another event says that the payment arrived.": {
			projections.ProcessedEvent{EventType: "checkout.completed", Action: "checkout", Kind: projections.KindSubscription, Outcome: "applied"}, related{},
		},
		"It set the subscription's state. Its payment is not claimed until an event names the user of the subscription.": {
			projections.ProcessedEvent{EventType: "subscription.paid", Action: "payment", Outcome: "applied"}, payment(projections.Payment{EventID: "e1"}),
		},
		"It set the subscription's state. The user of its payment was not known until e2 (seq 2) claimed it.": {
			projections.ProcessedEvent{EventType: "subscription.paid", Action: "payment", Outcome: "applied"},
			payment(projections.Payment{EventID: "e2", StreamSeq: 2, UserID: "u1"}),
		},
		"Payments o1 and p1 turned out to be one, which e2 (seq 2) claimed for user u1. It granted 7 credits.": {
			projections.ProcessedEvent{EventType: "checkout.completed", Action: "payment", Kind: projections.KindOneTime, Outcome: "applied"},
			reversal(projections.Payment{EventID: "e2", StreamSeq: 2, UserID: "u1", MergedID: "o1", OrderID: "o1"}, projections.Reversal{}, 7),
		},
		"Payments o1 and p1 turned out to be one, which is not claimed yet.": {
			projections.ProcessedEvent{EventType: "subscription.paid", Action: "payment", Kind: projections.KindSubscription, Outcome: "applied"},
			payment(projections.Payment{EventID: "e2", MergedID: "o1", OrderID: "o1"}),
		},
		"It set the subscription to the status that it named.": {
			projections.ProcessedEvent{EventType: "subscription.update", Action: "subscription", SubscriptionID: "s1", Outcome: "applied"}, related{},
		},
		"e2 (seq 2) had claimed its payment before. It filled in what the payment lacked. It granted 7 credits.": {
			projections.ProcessedEvent{EventType: "subscription.paid", Action: "payment", Outcome: "duplicate_payment"},
			reversal(projections.Payment{EventID: "e2", StreamSeq: 2, UserID: "u1"}, projections.Reversal{}, 7),
		},
		"A newer event had set its subscription before, so status and period stay as they are. It only filled in what was empty. It granted 7 credits.": {
			projections.ProcessedEvent{EventType: "subscription.paid", Action: "payment", Outcome: "stale"}, reversal(projections.Payment{}, projections.Reversal{}, 7),
		},
		"The refund takes back 100 of 101 paid. The licence stays, because a part of the payment is kept.": {
			projections.ProcessedEvent{EventType: "refund.created", Action: "reversal", Outcome: "applied"},
			reversal(claimed, projections.Reversal{Cause: "refund", Amount: &amount, Paid: &paid}, 0),
		},
		"The chargeback says that the total taken back is 100. It took back 1 credit.": {
			projections.ProcessedEvent{EventType: "dispute.created", Action: "reversal", Outcome: "applied"},
			reversal(claimed, projections.Reversal{Cause: "chargeback", Total: &amount}, -1),
		},
		"The refund takes back 100. It took back no credits: there were none, they had been taken back already, or its share is less than one credit.": {
			projections.ProcessedEvent{EventType: "refund.created", Action: "reversal", Outcome: "applied"},
			reversal(projections.Payment{UserID: "u1", Kind: projections.KindOneTime}, projections.Reversal{Cause: "refund", Amount: &amount}, 0),
		},
		"Events of this type are about subscriptions; this one is of kind pro.": {
			projections.ProcessedEvent{EventType: "subscription.active", Action: "subscription", Kind: projections.KindPro, Outcome: "ignored"}, related{},
		},
	} {
		c.e.EventID, c.e.ProviderPaymentID = "e1", "p1"
		require.Equal(t, want, why(c.e, c.related))
	}
}

func TestACorrectionIsExplained(t *testing.T) {
	t.Parallel()
	e := projections.ProcessedEvent{EventID: "e3", EventType: "checkout.completed", Action: "payment", Outcome: "duplicate_payment", ProviderPaymentID: "t1"}
	text := why(e, related{Corrected: map[string]correction{"e3": {Undone: 200, GivenBack: 1}}})
	require.Contains(t, text, "earlier grants were wrong, so a correction took back 200 credits.")
	require.Contains(t, text, "a correction gave back 1 credit.")
}
