package tables

import (
	"context"
	_ "embed"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/projections"
)

//go:embed payment.sql
var paymentDDL string

// Payments has every payment and the user who claimed it.
var Payments = &Table[projections.Payment]{
	Definition: Definition{
		Name: "payment", DDL: paymentDDL, Key: OfPayment,
		NameColumns: []string{"provider_payment_id", "transaction_id", "first_of_order", "order_id", "user_id", "kind", "subscription_id"},
		lookups: []lookup{
			{step: stepEvents, where: "provider_payment_id in (" + namedPayments + ")", by: []NameKind{ofTransaction, ofOrder}},
			{step: stepMerged, where: "provider_payment_id = any($1)", by: []NameKind{ofMergeTarget}},
			{step: stepSubscriptions, where: "provider_payment_id in (" + unclaimedPayments + ")", by: []NameKind{OfSubscription}},
			{step: stepAllPayments, where: "provider_payment_id in (" + paymentsOfSubscription + ")", by: []NameKind{OfWholeSubscription}},
			{step: stepLicenses, where: "user_id = any($1) and kind = 'pro'", by: []NameKind{OfLicensed}},
		},
		indexes: []indexOn{
			primary("provider_payment_id"),
			key("transaction_id_key", "unique", "transaction_id"),
			unique("first_of_order", "(order_id) where first_of_order"),
			plain("unclaimed", "(subscription_id) where user_id is null"),
			plain("subscription", "(subscription_id) where subscription_id is not null"),
			plain("pro", "(user_id) where kind = 'pro'"),
			inUse(plain("github_user", "(lower(github_username)) where github_username is not null")),
		},
	},
	rows: func(s *projections.State) stateRows[projections.Payment] { return &s.Payments },
	put:  (*projections.State).LoadPayment,
	names: func(r *projections.Payment) RowNames {
		out := RowNames{r.ProviderPaymentID, r.TransactionID}
		if r.FirstOfOrder {
			out[2] = r.OrderID
		}
		switch {
		case r.UserID == "":
			out[3] = r.SubscriptionID
		case r.Kind == projections.KindPro:
			out[3] = ProPaymentsOf(r.UserID)
		}
		if r.SubscriptionID != "" {
			out[4] = PaymentsOf(r.SubscriptionID)
		}
		return out
	},
	// A payment needs its reversals and ledger lines, those of the payment that was merged
	// into it, its subscription and its users. If it gives a licence, it needs all others
	// that give it to the same user.
	links: func(r *projections.Payment) Links {
		licensed := ""
		if r.Kind == projections.KindPro {
			licensed = r.UserID
		}
		return Links{
			{OfLicensed, licensed},
			{ofPaymentID, r.ProviderPaymentID},
			{ofPaymentID, r.MergedID},
			{ofMergeTarget, r.MergedInto},
			{OfSubscription, r.SubscriptionID},
			{OfUser, r.UserID},
			{OfUser, r.Buyer},
			{OfUser, r.OtherUserID},
		}
	},
}

// PaymentsNamed reads the payments that have one of these names, in the order of the log.
// A payment that was merged into another one is replaced by that one.
func PaymentsNamed(ctx context.Context, tx pgx.Tx, names []string) ([]projections.Payment, error) {
	return Payments.Rows(ctx, tx, `
		where provider_payment_id in (select coalesce(merged_into, provider_payment_id) from payment where provider_payment_id in (`+namedPayments+`))
		order by stream_seq`, names, names)
}

// Each part uses an index of its own. With one "or" of all conditions, Postgres would read
// the whole index of the key where rows are ordered by it.
const (
	namedPayments = `select provider_payment_id from payment where provider_payment_id = any($1)
		union all select provider_payment_id from payment where provider_payment_id = any($2)
		union all select provider_payment_id from payment where transaction_id <> provider_payment_id and transaction_id = any($1)
		union all select provider_payment_id from payment where first_of_order and order_id = any($2)`
	unclaimedPayments      = `select provider_payment_id from payment where user_id is null and subscription_id = any($1)`
	paymentsOfSubscription = `select provider_payment_id from payment where subscription_id is not null and subscription_id = any($1)`
)
