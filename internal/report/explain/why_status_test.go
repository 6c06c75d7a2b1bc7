package explain

import (
	"testing"

	"github.com/payfold/payfold/internal/events"
)

func TestWhatAnEventAboutASubscriptionDid(t *testing.T) {
	t.Parallel()
	requireSentences(t, map[string]tale{
		"a status": {
			bare,
			logOf{monthly, {ID: "e2", Action: lifecycle, SubscriptionID: "s1", Status: "past_due"}},
			"e2", "applied",
			"It set the subscription to past due.",
		},
		"a status that a newer event changed": {
			bare,
			logOf{{ID: "e0", Action: lifecycle, SubscriptionID: "s1", Status: "past_due"}, monthly},
			"e0", "applied",
			"It says that the subscription is past due. By the provider's time e1 (2026-01-02 10:02:00Z) is newer, and says active.",
		},
		"the same status as a newer event": {
			bare,
			logOf{{ID: "e0", Action: lifecycle, SubscriptionID: "s1", UserID: "u1", Status: "active"}, nobodys},
			"e0", "applied",
			"It says that the subscription is active, and so does e1 (2026-01-02 10:02:00Z).",
		},
		"a status of the implicit subscription": {
			bare,
			logOf{{ID: "e1", Action: lifecycle, Status: "active", UserID: "u1", Recurring: true}},
			"e1", "applied",
			"It set the subscription to active.",
		},
		"a payment of nothing, which says no status": {
			bare,
			logOf{
				monthly, canceled,
				{ID: "e3", Action: payment, Transaction: "t3", SubscriptionID: "s1", UserID: "u1", Kind: subscription, Trial: true, OccurredAt: minute(40)},
			},
			"e3", "ignored",
			"Nothing was paid. It grants nothing, because no product with trial credits is named. The subscription is canceled, as e2 (2026-01-02 10:50:00Z) says.",
		},
		"an event that names no status": {
			bare,
			logOf{monthly, {ID: "e2", Action: lifecycle, SubscriptionID: "s1"}},
			"e2", "applied",
			"It names no status. The subscription is active, as e1 (2026-01-02 10:01:00Z) says.",
		},
		"an event that names no status, and there is none": {
			bare,
			logOf{{ID: "e2", Action: lifecycle, SubscriptionID: "s1"}},
			"e2", "applied",
			"It names a subscription whose status no event has given yet.",
		},
		"a stale status": {
			bare,
			logOf{canceled, {ID: "e3", Action: lifecycle, SubscriptionID: "s1", Status: "past_due", OccurredAt: minute(40)}},
			"e3", "stale",
			"It says that the subscription is past due. By the provider's time e2 (2026-01-02 10:50:00Z) is newer, and says canceled.",
		},
		"a status after a cancellation": {
			bare,
			logOf{canceled, {ID: "e3", Action: lifecycle, SubscriptionID: "s1", Status: "active", OccurredAt: minute(60)}},
			"e3", "stale",
			"It says that the subscription is active. But e2 (2026-01-02 10:50:00Z) has canceled it: only a payment for a period that begins later makes it active again.",
		},
		"a second cancellation": {
			bare,
			logOf{canceled, with(canceled, func(e *event) { e.ID, e.OccurredAt = "e3", minute(60) })},
			"e3", "stale",
			"It says that the subscription is canceled, and so does e2 (2026-01-02 10:50:00Z).",
		},
		"a status of the same moment": {
			bare,
			logOf{
				{ID: "e1", Action: lifecycle, SubscriptionID: "s1", Status: "active", OccurredAt: minute(1)},
				{ID: "e2", Action: lifecycle, SubscriptionID: "s1", Status: "incomplete", OccurredAt: minute(1)},
			},
			"e2", "stale",
			"It says that the subscription is incomplete, but e1 (2026-01-02 10:01:00Z) says active.",
		},
		"a status that brings the user": {
			bare,
			logOf{nobodys, {ID: "e2", Action: lifecycle, SubscriptionID: "s1", UserID: "u1", Status: "active"}},
			"e2", "applied",
			"It set the subscription to active. Payment t1 waited for the name of its user. This event names user u1, so the payment counts.",
		},
		"an older status that brings the user": {
			bare,
			logOf{
				nobodys,
				{ID: "e2", Action: lifecycle, SubscriptionID: "s1", UserID: "u1", Status: "trialing", OccurredAt: minute(0)},
			},
			"e2", "applied",
			"It says that the subscription is trialing. By the provider's time e1 (2026-01-02 10:01:00Z) is newer, and says active. Payment t1 waited for the name of its user. This event names user u1, so the payment counts.",
		},
		"a status that brings the user of two payments": {
			bare,
			logOf{
				nobodys,
				with(nobodys, func(e *event) { e.ID, e.Transaction = "e2", "t2" }),
				{ID: "e3", Action: lifecycle, SubscriptionID: "s1", UserID: "u1", Status: "active"},
			},
			"e3", "applied",
			"It set the subscription to active. Payments t1, t2 waited for the name of their user. This event names user u1, so they count.",
		},
		"names of one payment that claim it": {
			bare,
			logOf{
				{ID: "e1", Action: payment, Order: "o1", UserID: "u1"},
				{ID: "e2", Action: payment, Transaction: "t1", Kind: pack, Credits: number(100)},
				{ID: "e3", Action: lifecycle, Kind: pack, Transaction: "t1", Order: "o1", UserID: "u1"},
			},
			"e3", "applied",
			"It says that transaction t1 and order o1 are one payment. So the payment is of user u1.",
		},
		"a status of a licence": {
			bare,
			logOf{{ID: "e1", Action: lifecycle, SubscriptionID: "s1", Kind: licence, Status: "active"}},
			"e1", "ignored",
			"It is about the status of a subscription, but what was sold is a licence, which this event does not change.",
		},
		"a status that makes payments licences": {
			bare,
			logOf{
				with(monthly, func(e *event) { e.Kind, e.Recurring = "", true }),
				{ID: "e2", Action: lifecycle, SubscriptionID: "s1", Kind: licence, Status: "active"},
			},
			"e2", "applied",
			"It set the subscription to active. It changed what payments grant, so a correction took back 5 credits.",
		},
		"the end of a subscription of a licence": {
			shop,
			logOf{rented, canceled},
			"e2", "applied",
			"It set the subscription to canceled. A licence that lasts as long as the subscription has ended with it.",
		},
		"the end of a subscription of a licence that had been taken back": {
			shop,
			logOf{
				rented, refund("e0", "t1", events.Reversal{ID: "d1"}), canceled,
				with(refund("e3", "t1", events.Reversal{ID: "d1", Status: events.Failed}), func(e *event) { e.OccurredAt = minute(55) }),
			},
			"e2", "ignored",
			"It set the subscription to canceled. A licence that lasts as long as the subscription has ended with it.",
		},
		"a pack's status without a subscription": {
			bare,
			logOf{{ID: "e1", Action: lifecycle, Kind: pack, UserID: "u1", Status: "active"}},
			"e1", "ignored",
			"It is about the status of a subscription, but what was sold is a credit pack, which this event does not change.",
		},
	})
}
