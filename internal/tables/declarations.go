package tables

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/projections"
)

// All lists all derived tables. Rows are locked and written in this order: subscription
// comes before subscription_state, because a transaction that adds a subscription of a
// user also writes the user's row of subscription.
var All = []AnyTable{
	ProcessedEvents, DuplicateEvents, CurrentSubscriptions, Credits, Licenses, SubscriptionStates, Payments, Reversals, LedgerLines,
	UnlistedProducts,
	RevenueByDay,
}

// Indexes lists the indexes of all tables. It must not be changed.
var Indexes = listIndexes()

func listIndexes() (all []Index) {
	for _, t := range All {
		for _, on := range t.About().indexes {
			all = append(all, on(t.About().Name))
		}
	}
	return all
}

// Names lists the derived tables that every schema has, for a statement.
func Names() string { return strings.Join(NameList(), ", ") }

// NameList lists the derived tables that every schema has.
func NameList() (list []string) {
	for _, t := range All {
		if !t.About().Extra {
			list = append(list, t.About().Name)
		}
	}
	return list
}

// ProcessedEvents has the outcome of every event. The rules need only the ids of earlier
// events, so Loader loads ids and no rows.
var ProcessedEvents = &Table[projections.ProcessedEvent]{
	Definition: Definition{
		Name: "processed_event", Key: OfEvent, InsertOnly: true,
		indexes: []indexOn{
			primary("event_id"),
			inUse(plain("payment", "(provider_payment_id, stream_seq) where provider_payment_id is not null")),
			inUse(plain("user", "(user_id, stream_seq) where user_id is not null")),
			inUse(plain("subscription", "(subscription_id, stream_seq) where subscription_id is not null")),
			inUse(plain("rejected", "(stream_seq) where outcome = 'rejected'")),
			inUse(unique("stream_seq", "(stream_seq)")),
		},
	},
	rows: func(s *projections.State) stateRows[projections.ProcessedEvent] {
		return insertOnlyRows[projections.ProcessedEvent](s.Events.Inserted())
	},
}

// DuplicateEvents has the messages whose event id an earlier message has.
var DuplicateEvents = &Table[projections.DuplicateEvent]{
	Definition: Definition{
		Name: "duplicate_event", Key: OfMessage, InsertOnly: true,
		indexes: []indexOn{primary("stream_seq")},
	},
	rows: func(s *projections.State) stateRows[projections.DuplicateEvent] {
		return insertOnlyRows[projections.DuplicateEvent](s.Duplicates)
	},
}

// CurrentSubscriptions has, for each user, the one subscription that a portal shows.
var CurrentSubscriptions = &Table[projections.Subscription]{
	Definition: Definition{
		Name: "subscription", Key: OfUser,
		indexes: []indexOn{primary("user_id")},
	},
	rows: func(s *projections.State) stateRows[projections.Subscription] { return &s.Current },
	put:  func(s *projections.State, r *projections.Subscription) { s.Current.Load(r.UserID, r) },
}

// Credits has the balance of each user's credit packs.
var Credits = &Table[projections.Credits]{
	Definition: Definition{
		Name: "credits", Key: OfUser,
		indexes: []indexOn{primary("user_id")},
	},
	rows: func(s *projections.State) stateRows[projections.Credits] { return &s.Credits },
	put:  (*projections.State).LoadCredits,
}

// Licenses has the licence of each user.
var Licenses = &Table[projections.ProLicense]{
	Definition: Definition{
		Name: "pro_license", Key: OfUser,
		indexes: []indexOn{primary("user_id")},
	},
	rows: func(s *projections.State) stateRows[projections.ProLicense] { return &s.Licenses },
	put:  (*projections.State).LoadLicense,
	// An active licence needs no payments to be loaded with it. A revoked licence does: its payment
	// may be of another user or kind now.
	links: func(r *projections.ProLicense) Links {
		if r.RevokedAt.IsZero() {
			return nil
		}
		return Links{{OfLicensed, r.UserID}}
	},
}

// SubscriptionStates has every subscription that an event has named, and the facts from which it follows. The view
// subscription_state shows those that have a status.
var SubscriptionStates = &Table[projections.SubscriptionState]{
	Definition: Definition{
		Name: "subscription_facts", Key: OfSubscription,
		indexes: []indexOn{
			primary("subscription_id"),
			plain("user", "(user_id) where user_id is not null"),
			inUse(plain("status", "(status, subscription_id) where status is not null")),
		},
	},
	rows: func(s *projections.State) stateRows[projections.SubscriptionState] { return &s.Subscriptions },
	put:  (*projections.State).LoadSubscription,
	links: func(r *projections.SubscriptionState) (to Links) {
		for _, user := range r.Users() {
			to = append(to, Link{OfUser, user})
		}
		return to
	},
}

// Payments has every payment that an event has named, and the facts from which it follows. The view payment shows those
// that were paid.
var Payments = &Table[projections.Payment]{
	Definition: Definition{
		Name: "payment_facts", Key: OfPayment,
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

// Reversals has every refund and dispute.
var Reversals = &Table[projections.Reversal]{
	Definition: Definition{
		Name: "reversal", Key: OfEvent, InsertOnly: true,
		indexes: []indexOn{
			primary("event_id"),
			plain("payment", "(provider_payment_id)"),
			inUse(plain("id", "(reversal_id)")),
		},
	},
	rows: func(s *projections.State) stateRows[projections.Reversal] {
		return insertOnlyRows[projections.Reversal](s.Reversals.Inserted())
	},
	put: (*projections.State).LoadReversal,
}

// LedgerLines has one row for every grant, reversal and correction of credits.
var LedgerLines = &Table[projections.LedgerLine]{
	Definition: Definition{
		Name: "credit_ledger", Key: OfPayment, InsertOnly: true,
		indexes: []indexOn{
			primary("provider_payment_id, line"),
			plain("user", "(user_id)"),
			inUse(plain("event", "(event_id)")),
		},
	},
	rows: func(s *projections.State) stateRows[projections.LedgerLine] {
		return insertOnlyRows[projections.LedgerLine](s.Ledger.Inserted())
	},
	put: func(s *projections.State, r *projections.LedgerLine) { s.Ledger.Load(r) },
}

// UnlistedProducts has the products that events have named and the catalogue lacks.
var UnlistedProducts = &Table[projections.UnlistedProduct]{
	Definition: Definition{
		Name: "unlisted_product", InsertOnly: true, Shared: true,
		indexes: []indexOn{primary("product")},
	},
	rows: func(s *projections.State) stateRows[projections.UnlistedProduct] {
		return insertOnlyRows[projections.UnlistedProduct](s.Unlisted.Inserted())
	},
}

// RevenueByDay has the revenue of each day, in few rows. A rebuild loads the whole table.
var RevenueByDay = &Table[projections.RevenueDay]{
	Definition: Definition{Name: "revenue_daily", Extra: true},
	rows:       func(s *projections.State) stateRows[projections.RevenueDay] { return &s.Revenue },
	put:        (*projections.State).LoadRevenue,
}
