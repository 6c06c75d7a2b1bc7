package tables

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/projections"
)

// Payments has every payment that an event has named, and the facts from which it follows. The view payment shows those
// that were paid.
var Payments = &Table[projections.Payment]{
	Definition: Definition{
		Name: "payment_facts", Key: OfPayment,
		lookups: []lookup{
			{step: stepEvents, where: "provider_payment_id in (" + namedPayments + ")", by: []NameKind{ofTransaction, ofOrder}},
			{step: stepSubscriptions, where: "provider_payment_id in (" + unclaimedPayments + ")", by: []NameKind{OfSubscription}},
			{step: stepLaterPayments, where: "provider_payment_id in (" + laterPayments + ")", args: laterPaymentsOf},
			{step: stepPeriods, where: "provider_payment_id in (" + paymentsOfPeriods + ")", args: periodsOf},
			{step: stepLicenses, where: "user_id = any($1) and kind = 'pro'", args: licensedUsers},
		},
		indexes: []indexOn{
			primary("provider_payment_id"),
			key("transaction_id_key", "unique", "transaction_id"),
			// Deferrable means that a statement may move an order from one payment to another.
			key("order_id_key", "unique", "order_id", "deferrable"),
			plain("unclaimed", "(subscription_id) where user_id is null"),
			plain("subscription", "(subscription_id, occurred_at) where subscription_id is not null"),
			plain("period", "(subscription_id, period_end) where subscription_id is not null and period_end is not null"),
			plain("pro", "(user_id) where kind = 'pro'"),
			inUse(plain("newest", "(stream_seq) where paid")),
			inUse(plain("checkout", "(provider_checkout_id) where provider_checkout_id is not null")),
			inUse(plain("github_user", "(lower(github_username)) where github_username is not null")),
		},
	},
	rows: func(s *projections.State) stateRows[projections.Payment] { return &s.Payments },
	put:  (*projections.State).LoadPayment,
	// A payment needs its reversals and ledger lines, its subscriptions and its users. If it gives a licence, it needs all
	// others that give it to the same user.
	links: func(r *projections.Payment) (to Links) {
		to = append(to, Link{ofPaymentID, r.ProviderPaymentID}, Link{ofPaymentID, r.OrderID})
		for _, subscription := range r.Subscriptions() {
			to = append(to, Link{OfSubscription, subscription})
		}
		for _, user := range r.Users() {
			to = append(to, Link{OfUser, user})
		}
		if r.Kind == projections.KindPro {
			to = append(to, Link{OfLicensed, r.UserID})
		}
		return to
	},
}

// PaymentsNamed reads the payments that have one of these names, in the order of the log.
func PaymentsNamed(ctx context.Context, tx pgx.Tx, names []string) ([]projections.Payment, error) {
	return Payments.Rows(ctx, tx, "where provider_payment_id in ("+namedPayments+") and coalesce(transaction_id, order_id) is not null order by stream_seq", names, names)
}

// Each part uses an index of its own. With one "or" of all conditions, Postgres would read
// the whole index of the key where rows are ordered by it.
const (
	namedPayments = `select provider_payment_id from payment_facts where provider_payment_id = any($1)
		union all select provider_payment_id from payment_facts where provider_payment_id = any($2)
		union all select provider_payment_id from payment_facts where transaction_id <> provider_payment_id and transaction_id = any($1)
		union all select provider_payment_id from payment_facts where order_id <> provider_payment_id and order_id = any($2)`
	unclaimedPayments = `select provider_payment_id from payment_facts where user_id is null and subscription_id = any($1)`
	laterPayments     = `select p.provider_payment_id from unnest($1::text[], $2::text[]) as n(subscription, since)
		join payment_facts p on p.subscription_id = n.subscription and p.occurred_at >= n.since::timestamptz`
	paymentsOfPeriods = `select p.provider_payment_id from unnest($1::text[], $2::text[]) as n(subscription, ends)
		join payment_facts p on p.subscription_id = n.subscription and p.period_end = n.ends::timestamptz`
)

// laterPaymentsOf returns the subscriptions whose payments can change from a time on, and these times.
func laterPaymentsOf(l loading) [][]string {
	var subscriptions, times []string
	for subscription, since := range l.Rules.Since(l.State, l.events) {
		subscriptions, times = append(subscriptions, subscription), append(times, since.Format(time.RFC3339Nano))
	}
	return [][]string{subscriptions, times}
}

func licensedUsers(l loading) [][]string {
	for _, user := range l.Rules.Licensed(l.State, l.events) {
		l.wanted.add(OfLicensed, user)
	}
	return [][]string{l.names(OfLicensed)}
}

func periodsOf(l loading) [][]string {
	subscriptions, ends := l.State.Periods(l.events)
	times := make([]string, len(ends))
	for i := range ends {
		times[i] = ends[i].Format(time.RFC3339Nano)
	}
	return [][]string{subscriptions, times}
}
