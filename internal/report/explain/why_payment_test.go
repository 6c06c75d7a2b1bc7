package explain

import (
	"testing"

	"github.com/payfold/payfold/internal/events"
)

func TestWhatAPaymentDid(t *testing.T) {
	t.Parallel()
	requireSentences(t, map[string]tale{
		"a pack": {
			bare,
			logOf{paid},
			"e1", "applied",
			"It says that payment t1 of user u1 arrived. It granted 20 credits.",
		},
		"a payment of a subscription": {
			bare,
			logOf{monthly},
			"e1", "applied",
			"It says that payment t1 of user u1 arrived. It set the subscription to active. It granted 5 credits.",
		},
		"a payment of the implicit subscription": {
			bare,
			logOf{{ID: "e1", Action: payment, Recurring: true, Order: "o1", UserID: "u1"}},
			"e1", "applied",
			"It says that payment o1 of user u1 arrived. It set the subscription to active.",
		},
		"a licence": {
			bare,
			logOf{key},
			"e1", "applied",
			"It says that payment t1 of user u1 arrived. It gave a licence.",
		},
		"a licence that ended with its subscription": {
			shop,
			logOf{rented, canceled},
			"e1", "applied",
			"It says that payment t1 of user u1 arrived. It gave a licence, which ended with its subscription: e2 set it to canceled.",
		},
		"a product that grants nothing": {
			shop,
			logOf{{ID: "e1", Action: payment, Transaction: "t1", UserID: "u1", Product: "gift"}},
			"e1", "applied",
			"It says that payment t1 of user u1 arrived. The catalogue says that its product grants nothing.",
		},
		"a trial with credits": {
			shop,
			logOf{{ID: "e1", Action: payment, Transaction: "t1", SubscriptionID: "s1", UserID: "u1", Product: "trial", Trial: true}},
			"e1", "applied",
			"It says that payment t1 of user u1 arrived. It set the subscription to trialing. It granted 3 credits.",
		},
		"a payment of nothing after another one": {
			shop,
			logOf{
				{ID: "e1", Action: payment, Transaction: "t1", SubscriptionID: "s1", UserID: "u1", Product: "trial", OccurredAt: minute(0)},
				{ID: "e2", Action: payment, Transaction: "t2", SubscriptionID: "s1", UserID: "u1", Product: "trial", Trial: true, OccurredAt: minute(10)},
			},
			"e2", "applied",
			"It says that payment t2 of user u1 arrived. The subscription is active, as e1 (2026-01-02 10:00:00Z) says. Nothing was paid, and an earlier payment had begun the subscription: so it grants no trial credits.",
		},
		"a payment whose body says trialing": {
			bare,
			logOf{with(monthly, func(e *event) { e.Status = "trialing" })},
			"e1", "applied",
			"It says that payment t1 of user u1 arrived. It set the subscription to trialing. It granted 5 credits.",
		},
		"a payment without a user": {
			bare,
			logOf{nobodys},
			"e1", "applied",
			"It says that payment t1 arrived. The payment grants nothing yet: no event names its user.",
		},
		"a payment whose user a later checkout names": {
			bare,
			logOf{nobodys, {ID: "e2", Action: checkout, SubscriptionID: "s1", UserID: "u1"}},
			"e1", "applied",
			"It says that payment t1 arrived. Its user was not known until e2 (seq 2) named user u1. It set the subscription to active. It granted 5 credits.",
		},
		"a payment whose user an earlier checkout names": {
			bare,
			logOf{{ID: "e0", Action: checkout, SubscriptionID: "s1", UserID: "u1"}, nobodys},
			"e1", "applied",
			"It says that payment t1 arrived. Its user is u1, as e0 says. It set the subscription to active. It granted 5 credits.",
		},
		"an older event of another user": {
			bare,
			logOf{monthly, with(monthly, func(e *event) { e.ID, e.UserID, e.OccurredAt = "e2", "u2", minute(0) })},
			"e1", "applied",
			"It names user u1. By the provider's time e2 (2026-01-02 10:00:00Z) was first, and names user u2: payment t1 is of that user. It granted 5 credits. Of these, corrections took back 5.",
		},
		"the older event of the other user": {
			bare,
			logOf{monthly, with(monthly, func(e *event) { e.ID, e.UserID, e.OccurredAt = "e2", "u2", minute(0) })},
			"e2", "applied",
			"It says that payment t1 of user u2 arrived. It set the subscription to active. It granted 5 credits. It changed what payments grant, so a correction took back 5 credits.",
		},
		"a payment of another kind than its other events say": {
			shop,
			logOf{
				{ID: "e1", Action: payment, Transaction: "t1", UserID: "u1", ProductKey: "licence"},
				{ID: "e2", Action: payment, Transaction: "t1", UserID: "u1", Product: "pack"},
			},
			"e1", "applied",
			"It says that payment t1 of user u1 arrived. Its other events decide that the payment is for a credit pack.",
		},
		"the same payment again": {
			bare,
			logOf{paid, with(paid, func(e *event) { e.ID = "e2" })},
			"e2", "duplicate_payment",
			"The same payment again: e1 (seq 1) told of it before, so this event grants nothing. What this event says of the payment counts, too.",
		},
		"an older event of the same payment": {
			bare,
			logOf{paid, with(paid, func(e *event) { e.ID, e.OccurredAt = "e2", minute(0) })},
			"e2", "duplicate_payment",
			"The same payment again: e1 (seq 1) told of it before, so this event grants nothing. What this event says of the payment counts, too.",
		},
		"the same payment again with more credits": {
			bare,
			logOf{paid, with(paid, func(e *event) { e.ID, e.Credits = "e2", number(50) })},
			"e2", "duplicate_payment",
			"The same payment again: e1 (seq 1) told of it before. What this event says of the payment counts, too. It granted 30 credits.",
		},
		"the same payment again after a status": {
			bare,
			logOf{
				monthly,
				{ID: "e2", Action: lifecycle, SubscriptionID: "s1", Status: "past_due"},
				with(monthly, func(e *event) { e.ID = "e3" }),
			},
			"e3", "duplicate_payment",
			"The same payment again: e1 (seq 1) told of it before, so this event grants nothing. What this event says of the payment counts, too. It set the subscription to active.",
		},
		"an unreadable amount": {
			bare,
			logOf{with(paid, func(e *event) { e.Amount = unreadable })},
			"e1", "applied amount_unreadable",
			"It says that payment t1 of user u1 arrived. It granted 20 credits. The amount could not be read; the purchase counts without it.",
		},
		"unreadable units": {
			bare,
			logOf{with(paid, func(e *event) { e.Units = unreadable })},
			"e1", "applied units_unreadable",
			"It says that payment t1 of user u1 arrived. It granted 20 credits. The number of units could not be read; it counts as one unit.",
		},
		"a payment whose period has granted as much": {
			shop,
			logOf{ofPeriod("e1", "t1", "month", 5), ofPeriod("e2", "t2", "month", 2)},
			"e2", "applied",
			"It says that payment t2 of user u1 arrived. It set the subscription to active. One period grants as much as its largest payment. Before this one the period had the credits of t1, so this one grants nothing.",
		},
		"a payment whose period has granted a part": {
			shop,
			logOf{ofPeriod("e1", "t1", "month", 2), ofPeriod("e2", "t2", "month", 3), ofPeriod("e3", "t3", "month", 5)},
			"e3", "applied",
			"It says that payment t3 of user u1 arrived. It set the subscription to active. One period grants as much as its largest payment. Before this one the period had the credits of t1, t2, so this one grants only the rest. It granted 20 credits.",
		},
		"the first payment of a period": {
			shop,
			logOf{ofPeriod("e1", "t1", "month", 5), ofPeriod("e2", "t2", "month", 2)},
			"e1", "applied",
			"It says that payment t1 of user u1 arrived. It says that the subscription is active, and so does e2 (2026-01-02 10:02:00Z). It granted 50 credits.",
		},
		"a payment of a period whose first payment was taken back": {
			shop,
			logOf{ofPeriod("e1", "t1", "month", 5), refund("e2", "t1", events.Reversal{}), ofPeriod("e3", "t3", "month", 2)},
			"e3", "applied",
			"It says that payment t3 of user u1 arrived. It set the subscription to active. It granted 20 credits.",
		},
		"a payment of another user than its subscription": {
			bare,
			logOf{
				nobodys,
				{ID: "e2", Action: checkout, SubscriptionID: "s1", UserID: "u1"},
				with(monthly, func(e *event) { e.ID, e.UserID = "e3", "u2" }),
			},
			"e1", "applied",
			"It says that payment t1 arrived. Until e3 (seq 3) named user u2, it was for user u1. It says that the subscription is active, and so does e3 (2026-01-02 10:03:00Z). It granted 5 credits. Of these, corrections took back 5.",
		},
		"a payment whose subscription an older event says is of another user": {
			bare,
			logOf{
				nobodys,
				{ID: "e2", Action: checkout, SubscriptionID: "s1", UserID: "u1"},
				{ID: "e3", Action: checkout, SubscriptionID: "s1", UserID: "u2", OccurredAt: minute(0)},
			},
			"e1", "applied",
			"It says that payment t1 arrived. Until e3 (seq 3) named user u2, it was for user u1. It set the subscription to active. It granted 10 credits. Of these, corrections took back 5.",
		},
		"a payment before a newer cancellation": {
			bare,
			logOf{canceled, monthly},
			"e1", "applied",
			"It says that payment t1 of user u1 arrived. It says that the subscription is active. By the provider's time e2 (2026-01-02 10:50:00Z) is newer, and says canceled. It granted 5 credits.",
		},
		"a payment after a cancellation": {
			bare,
			logOf{canceled, with(monthly, func(e *event) { e.OccurredAt = minute(60) })},
			"e1", "applied",
			"It says that payment t1 of user u1 arrived. It says that the subscription is active. But e2 (2026-01-02 10:50:00Z) has canceled it: only a payment for a period that begins later makes it active again. It granted 5 credits.",
		},
		"a payment that makes a subscription active again": {
			bare,
			logOf{
				canceled,
				with(monthly, func(e *event) { e.OccurredAt, e.PeriodStart, e.PeriodEnd = minute(60), minute(55), minute(90) }),
			},
			"e1", "applied",
			"It says that payment t1 of user u1 arrived. It set the subscription to active. It granted 5 credits.",
		},
		"a payment after an announced cancellation": {
			bare,
			logOf{
				with(canceled, func(e *event) { e.Status, e.PeriodEnd = "scheduled_cancel", minute(90) }),
				with(monthly, func(e *event) { e.OccurredAt, e.PeriodEnd = minute(60), minute(90) }),
			},
			"e1", "applied",
			"It says that payment t1 of user u1 arrived. It says that the subscription is active. But e2 (2026-01-02 10:50:00Z) has announced the cancellation, which stays until a payment for a later period. It granted 5 credits.",
		},
	})
}
