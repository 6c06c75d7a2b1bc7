package browse

import (
	_ "embed"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/report/explain"
)

// PaymentItem is a paid payment in a list.
type PaymentItem struct {
	ID         string     `db:"provider_payment_id" json:"provider_payment_id"`
	Provider   string     `db:"provider" json:"provider"`
	UserID     string     `db:"user_id" json:"user_id"` // empty until the customer is known
	Kind       string     `db:"kind" json:"kind"`
	Product    string     `db:"product_key" json:"product_key"`
	Amount     *int64     `db:"amount" json:"amount"`
	Refunded   *int64     `db:"refunded_amount" json:"refunded_amount"`
	Currency   string     `db:"currency" json:"currency"`
	Credits    *int64     `db:"credits" json:"credits"`
	ReversedAt *time.Time `db:"reversed_at" json:"reversed_at"`
	EventID    string     `db:"event_id" json:"event_id"`
	OccurredAt time.Time  `db:"occurred_at" json:"occurred_at"`
	StreamSeq  int64      `db:"stream_seq" json:"stream_seq"`
}

// SubscriptionItem is a subscription in a list.
type SubscriptionItem struct {
	ID         string     `db:"subscription_id" json:"subscription_id"`
	Provider   string     `db:"provider" json:"provider"`
	UserID     string     `db:"user_id" json:"user_id"`
	Kind       string     `db:"kind" json:"kind"`
	Product    string     `db:"product_key" json:"product_key"`
	Status     string     `db:"status" json:"status"`
	PeriodEnd  *time.Time `db:"current_period_end" json:"current_period_end"`
	EventID    string     `db:"event_id" json:"event_id"`
	OccurredAt *time.Time `db:"occurred_at" json:"occurred_at"` // of the event that decides the status
}

// CustomerItem is a customer in a list: somebody who has a subscription, credit packs or a licence, or had them.
type CustomerItem struct {
	UserID    string     `db:"user_id" json:"user_id"`
	Status    string     `db:"status" json:"status"` // of the subscription that the portal shows
	Product   string     `db:"product_key" json:"product_key"`
	PeriodEnd *time.Time `db:"current_period_end" json:"current_period_end"`
	Packs     *int64     `db:"packs" json:"packs"`     // the balance of credit packs
	License   string     `db:"license" json:"license"` // its status
}

//go:embed list_payments.sql
var listPayments string

// Payments lists the paid payments, the newest in the log first.
var Payments = &Rows[PaymentItem]{
	walk:    func(RowFilter) string { return listPayments },
	order:   "w.stream_seq desc, w.provider_payment_id desc",
	placeOf: func(p PaymentItem) string { return fmt.Sprintf("%d/%s", p.StreamSeq, p.ID) },
	place: func(after string) (pgx.NamedArgs, error) {
		seq, id, found := strings.Cut(after, "/")
		n, err := strconv.ParseInt(seq, 10, 64)
		if after == "" {
			n = math.MaxInt64
		} else if err != nil || !found {
			return nil, ErrBadPlace
		}
		return pgx.NamedArgs{"seq": n, "id": explain.Storable(id)}, nil
	},
	filter: func(f RowFilter, c *conditions) {
		c.equal("w.product_key", f.Product)
		c.equal("w.kind", f.Kind)
		c.equal("w.provider", f.Provider)
		c.between("w.occurred_at", f.From, f.To)
		if f.Refunded != "" {
			c.add("(coalesce(w.refunded_amount, 0) > 0 or w.reversed_at is not null) = @refunded", "refunded", f.Refunded == "yes")
		}
	},
}

//go:embed list_subscriptions.sql
var listSubscriptions string

// Subscriptions lists the subscriptions that have a status, in the order of their ids. A list of one status is read
// from an index, so it is quick, too, if few have the status.
var Subscriptions = &Rows[SubscriptionItem]{
	walk: func(f RowFilter) string {
		if f.Status != "" {
			return strings.Replace(listSubscriptions, "status is not null", "status = @status", 1)
		}
		return listSubscriptions
	},
	order:   "w.subscription_id",
	placeOf: func(s SubscriptionItem) string { return s.ID }, place: afterName,
	filter: func(f RowFilter, c *conditions) {
		c.equal("w.product_key", f.Product)
		c.equal("w.kind", f.Kind)
		c.equal("w.provider", f.Provider)
		c.between("w.occurred_at", f.From, f.To)
		c.endsBefore(f.EndsBefore)
	},
}

//go:embed list_customers.sql
var listCustomers string

// Customers lists the customers, in the order of their ids.
var Customers = &Rows[CustomerItem]{
	walk:    func(RowFilter) string { return listCustomers },
	order:   "w.user_id",
	placeOf: func(c CustomerItem) string { return c.UserID }, place: afterName,
	filter: func(f RowFilter, c *conditions) {
		c.equal("w.status", f.Status)
		c.equal("w.product_key", f.Product)
		c.endsBefore(f.EndsBefore)
	},
}

func afterName(after string) (pgx.NamedArgs, error) {
	return pgx.NamedArgs{"id": explain.Storable(after)}, nil
}

func (c *conditions) endsBefore(end time.Time) {
	if !end.IsZero() {
		c.add("w.current_period_end < @ends_before", "ends_before", end)
	}
}
