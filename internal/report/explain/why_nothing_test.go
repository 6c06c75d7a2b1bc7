package explain

import (
	"testing"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
)

func TestWhyAnEventGrantedNothing(t *testing.T) {
	t.Parallel()
	requireSentences(t, map[string]tale{
		"no effect": {
			bare,
			logOf{{ID: "e1", Action: events.None}},
			"e1", "ignored",
			"Events of this type change nothing.",
		},
		"two names, no effect": {
			bare,
			logOf{{ID: "e1", Action: events.None, Transaction: "t1", Order: "o1"}},
			"e1", "ignored",
			"Events of this type change nothing.",
		},
		"two names of two payments that had granted": {
			bare,
			logOf{
				paid, with(paid, func(e *event) { e.ID, e.Transaction, e.Order = "e2", "", "o1" }),
				{ID: "e3", Action: events.None, Transaction: "t1", Order: "o1"},
			},
			"e3", "ignored",
			"Events of this type change nothing. But it says that transaction t1 and order o1 are one payment. It changed what payments grant, so a correction took back 20 credits.",
		},
		"unpaid": {
			bare,
			logOf{with(paid, func(e *event) { e.Unpaid = true })},
			"e1", "ignored unpaid",
			"The provider says that the money has not arrived, so the event grants nothing. An event that says that the same payment is paid will count.",
		},
		"a trial": {
			shop,
			logOf{{ID: "e1", Action: payment, Transaction: "t1", SubscriptionID: "s1", UserID: "u1", Product: "month", Trial: true}},
			"e1", "ignored",
			"Nothing was paid. It grants nothing, because no product with trial credits is named. It set the subscription to trialing.",
		},

		"invalid text": {
			bare,
			logOf{{ID: "e1", Action: payment, InvalidText: true}},
			"e1", "rejected invalid_text",
			"A text in it cannot be stored: it has an invalid or zero character, or is longer than 255 bytes. It changed nothing.",
		},
		"unreadable": {
			bare,
			logOf{{ID: "e1", Unreadable: true, Action: events.None}},
			"e1", "rejected invalid_text",
			"A text in it cannot be stored: it has an invalid or zero character, or is longer than 255 bytes. It changed nothing.",
		},
		"wrong mode": {
			projections.Rules{Mode: projections.ModeLive},
			logOf{with(paid, func(e *event) { e.Mode = events.Test })},
			"e1", "rejected wrong_mode",
			"Its mode (test or live) is not the one that PROVIDER_MODE accepts. It changed nothing.",
		},
		"an unknown kind": {
			bare,
			logOf{with(paid, func(e *event) { e.Kind = "gift" })},
			"e1", "rejected unknown_kind",
			"Its metadata says that the kind is gift, but the kinds are subscription, one_time and pro. It changed nothing.",
		},
		"no kind": {
			bare,
			logOf{with(paid, func(e *event) { e.Kind = "" })},
			"e1", "rejected unknown_kind",
			"Nothing says what was sold: the checkout's metadata needs a kind (subscription, one_time or pro), or the catalogue needs the product. It granted nothing. When another event brings what is missing, what this event says of the payment counts.",
		},
		"no kind, but a product": {
			bare,
			logOf{with(paid, func(e *event) { e.Kind, e.Product = "", "prod_77" })},
			"e1", "rejected unknown_kind",
			"Nothing says what was sold: the checkout's metadata needs a kind (subscription, one_time or pro), or the catalogue needs the product. The provider names product prod_77. It granted nothing. When another event brings what is missing, what this event says of the payment counts.",
		},
		"no kind, and later one": {
			bare,
			logOf{with(paid, func(e *event) { e.Kind = "" }), with(paid, func(e *event) { e.ID = "e2" })},
			"e1", "rejected unknown_kind",
			"Nothing says what was sold: the checkout's metadata needs a kind (subscription, one_time or pro), or the catalogue needs the product. Other events brought what was missing: payment t1 is of user u1, and what this event says of the payment counts.",
		},
		"a status of no kind": {
			bare,
			logOf{{ID: "e1", Action: lifecycle, Status: "active", UserID: "u1"}},
			"e1", "rejected unknown_kind",
			"Nothing says what was sold: the checkout's metadata needs a kind (subscription, one_time or pro), or the catalogue needs the product. It changed nothing.",
		},
		"a status without a user": {
			bare,
			logOf{{ID: "e1", Action: lifecycle, Status: "active", Recurring: true}},
			"e1", "rejected missing_user",
			"Nothing says who bought it: the checkout's metadata needs a user_id. It changed nothing.",
		},
		"no user": {
			bare,
			logOf{with(paid, func(e *event) { e.UserID = "" })},
			"e1", "rejected missing_user",
			"Nothing says who bought it: the checkout's metadata needs a user_id. It granted nothing. When another event brings what is missing, what this event says of the payment counts.",
		},
		"no user, and later one": {
			bare,
			logOf{with(paid, func(e *event) { e.UserID = "" }), with(paid, func(e *event) { e.ID = "e2" })},
			"e1", "rejected missing_user",
			"Nothing says who bought it: the checkout's metadata needs a user_id. Other events brought what was missing: payment t1 is of user u1, and what this event says of the payment counts.",
		},
		"no payment": {
			bare,
			logOf{with(paid, func(e *event) { e.Transaction = "" })},
			"e1", "rejected missing_payment_id",
			"It names no transaction and no order, so a second event of the same payment could not be recognized. It changed nothing.",
		},
		"an unknown product": {
			shop,
			logOf{with(rented, func(e *event) { e.Product = "prod_77" })},
			"e1", "rejected unknown_product",
			"The catalogue does not have product prod_77. Add the product to the catalogue under this id, and rebuild: then the purchase counts. A product that grants nothing is {kind: none}. It granted nothing. When another event brings what is missing, what this event says of the payment counts.",
		},
		"no product": {
			shop,
			logOf{{ID: "e1", Action: payment, Transaction: "t1", UserID: "u1", Kind: pack}},
			"e1", "rejected unknown_product",
			"It names no product, so the catalogue cannot say what was sold. It granted nothing. When another event brings what is missing, what this event says of the payment counts.",
		},
		"an unknown product, and later a known one": {
			shop,
			logOf{
				with(rented, func(e *event) { e.Product = "prod_77" }),
				with(rented, func(e *event) { e.ID, e.Product = "e2", "pack" }),
			},
			"e1", "rejected unknown_product",
			"The catalogue does not have product prod_77. Add the product to the catalogue under this id, and rebuild: then the purchase counts. A product that grants nothing is {kind: none}. Other events brought what was missing: payment t1 is of user u1, and what this event says of the payment counts.",
		},
		"another kind than the catalogue": {
			shop,
			logOf{{ID: "e1", Action: payment, Transaction: "t1", UserID: "u1", Kind: licence, Product: "pack"}},
			"e1", "rejected kind_mismatch",
			"Its metadata names another kind than the catalogue has for the product. Buyers can edit the metadata of a checkout link. It changed nothing.",
		},
		"no credits": {
			bare,
			logOf{with(paid, func(e *event) { e.Credits = events.Number{} })},
			"e1", "rejected missing_credits",
			"It sells a credit pack without a number of credits: the checkout's metadata needs credits, or the catalogue needs them for the product. It granted nothing. When another event brings what is missing, what this event says of the payment counts.",
		},
		"no credits are too few": {
			bare,
			logOf{with(paid, func(e *event) { e.Credits = number(0) })},
			"e1", "rejected out_of_range",
			"A number in it is out of range: credits and units are whole numbers from 1 to 1,000,000,000,000, the amounts of a reversal are whole numbers of at least 0, and balances have a maximum. It changed nothing.",
		},
		"too few credits with two names": {
			bare,
			logOf{
				{ID: "e1", Action: payment, Order: "o1", UserID: "u1"},
				{ID: "e2", Action: payment, Transaction: "t1", Kind: pack, Credits: number(100)},
				{ID: "e3", Action: payment, Transaction: "t1", Order: "o1", Kind: pack, UserID: "u1", Credits: number(0)},
			},
			"e3", "rejected out_of_range",
			"A number in it is out of range: credits and units are whole numbers from 1 to 1,000,000,000,000, the amounts of a reversal are whole numbers of at least 0, and balances have a maximum. It granted nothing itself.",
		},

		"a newer event of another user": {
			bare,
			logOf{paid, with(paid, func(e *event) { e.ID, e.UserID = "e2", "u2" })},
			"e2", "rejected payment_conflict",
			"It names another user, another kind of purchase or another provider than its payment has. By the provider's time e1 (2026-01-02 10:01:00Z) was first, and names user u1: payment t1 is of that user. This event granted nothing.",
		},
		"a newer event of another kind": {
			bare,
			logOf{paid, with(paid, func(e *event) { e.ID, e.Kind = "e2", licence })},
			"e2", "rejected payment_conflict",
			"It names another user, another kind of purchase or another provider than its payment has. It is for a licence, but another event says that payment t1 is for a credit pack. This event granted nothing.",
		},
		"a conflict that an older event resolved": {
			bare,
			logOf{
				paid, with(paid, func(e *event) { e.ID, e.UserID = "e2", "u2" }),
				with(paid, func(e *event) { e.ID, e.UserID, e.OccurredAt = "e3", "u2", minute(0) }),
			},
			"e2", "rejected payment_conflict",
			"It names another user, another kind of purchase or another provider than its payment has. An older event that arrived later says the same as this one, so what this event says of payment t1 counts.",
		},
		"a payment of another provider": {
			bare,
			logOf{paid, with(paid, func(e *event) { e.ID, e.Provider = "e2", "paddle" })},
			"e2", "rejected payment_conflict",
			"It names another user, another kind of purchase or another provider than its payment has. Payment t1 is of provider stripe. It changed nothing.",
		},
		"a subscription of another provider": {
			bare,
			logOf{monthly, {ID: "e2", Provider: "paddle", Action: lifecycle, SubscriptionID: "s1", Status: "paused"}},
			"e2", "rejected payment_conflict",
			"It names another user, another kind of purchase or another provider than its payment has. Subscription s1 is of provider stripe. It changed nothing.",
		},
	})
}
