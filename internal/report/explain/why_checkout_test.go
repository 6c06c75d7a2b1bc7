package explain

import (
	"testing"
)

func TestWhatACheckoutDid(t *testing.T) {
	t.Parallel()
	requireSentences(t, map[string]tale{
		"a checkout": {
			bare,
			logOf{{ID: "e1", Action: checkout, SubscriptionID: "s1", UserID: "u1", Product: "month"}},
			"e1", "applied",
			"It says that the subscription is for product month. The payments of the subscription are other events.",
		},
		"a checkout of a kind": {
			bare,
			logOf{{ID: "e1", Action: checkout, SubscriptionID: "s1", UserID: "u1", Kind: licence}},
			"e1", "applied",
			"It says that the subscription is for a licence. The payments of the subscription are other events.",
		},
		"a checkout in a trial": {
			shop,
			logOf{{ID: "e1", Action: checkout, SubscriptionID: "s1", UserID: "u1", Product: "trial", Status: "trialing"}},
			"e1", "applied",
			"It says that the subscription is for product trial. The payments of the subscription are other events. It set the subscription to trialing.",
		},
		"a checkout that brings the user": {
			bare,
			logOf{nobodys, {ID: "e2", Action: checkout, SubscriptionID: "s1", UserID: "u1"}},
			"e2", "applied",
			"It is a checkout of the subscription. The payments of the subscription are other events. Payment t1 waited for the name of its user. This event names user u1, so the payment counts.",
		},
		"a second checkout without a user": {
			bare,
			logOf{
				{ID: "e0", Action: checkout, SubscriptionID: "s1", UserID: "u1"},
				nobodys,
				{ID: "e3", Action: checkout, SubscriptionID: "s1"},
			},
			"e3", "applied",
			"It is a checkout of the subscription. The payments of the subscription are other events.",
		},
		"a stale checkout": {
			bare,
			logOf{canceled, {ID: "e3", Action: checkout, SubscriptionID: "s1", Status: "trialing", OccurredAt: minute(40)}},
			"e3", "stale",
			"It is a checkout of the subscription. The payments of the subscription are other events. It says that the subscription is trialing. By the provider's time e2 (2026-01-02 10:50:00Z) is newer, and says canceled.",
		},
		"a checkout without a subscription": {
			bare,
			logOf{{ID: "e1", Action: checkout, Order: "o1", UserID: "u1"}},
			"e1", "ignored",
			"It says what is sold, but names no subscription. The payment is another event.",
		},
		"a checkout of an unknown kind": {
			bare,
			logOf{{ID: "e1", Action: checkout, SubscriptionID: "s1", Kind: "gift"}},
			"e1", "rejected unknown_kind",
			"Its metadata says that the kind is gift, but the kinds are subscription, one_time and pro. It changed nothing.",
		},
	})
}
