package reconcile

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/providerapi"
)

//go:embed payments.sql
var paymentsSQL string

//go:embed rejected.sql
var rejectedSQL string

//go:embed subscriptions.sql
var subscriptionsSQL string

//go:embed refunds.sql
var refundsSQL string

// compareNow compares objects with the tables of this moment.
func (c *run) compareNow(ctx context.Context, objects []providerapi.Object) (found []Difference, err error) {
	if len(objects) == 0 {
		return nil, nil
	}
	err = c.of.Tables.View(ctx, func(ctx context.Context, tx pgx.Tx) error {
		found, err = c.compare(ctx, tx, objects)
		return err
	})
	return found, err
}

// compare compares objects with the tables that tx reads.
func (c *run) compare(ctx context.Context, tx pgx.Tx, objects []providerapi.Object) (found []Difference, err error) {
	for _, part := range []struct {
		kind    providerapi.Kind
		compare func(context.Context, pgx.Tx, []providerapi.Object) ([]Difference, error)
	}{
		{providerapi.Payments, c.comparePayments}, {providerapi.Subscriptions, c.compareSubscriptions}, {
			providerapi.Refunds,
			c.compareRefunds,
		},
	} {
		of := slices.DeleteFunc(slices.Clone(objects), func(o providerapi.Object) bool {
			return o.Kind != part.kind ||
				!isCompared(&o)
		})
		if len(of) == 0 {
			continue
		}
		differences, err := part.compare(ctx, tx, of)
		if err != nil {
			return nil, err
		}
		found = append(found, differences...)
	}
	return found, nil
}

// differs begins a difference of an object of the provider.
func differs(what What, o *providerapi.Object, user, event string) *Difference {
	e := &o.Event
	d := &Difference{
		What: what, Payment: e.PaymentID(), byOrder: e.Transaction == "",
		Subscription: e.SubscriptionID, Refund: e.Reversal.ID,
		User: cmp.Or(user, e.UserID), At: e.OccurredAt, Event: event,
		kind: o.Kind, object: o.ID, changed: o.Changed,
	}
	switch o.Kind {
	case providerapi.Payments:
		d.Provider.Amount, d.Provider.Currency = usable(e.Amount), e.Currency
		d.names = []string{e.Transaction, e.Order}
	case providerapi.Subscriptions:
		d.Payment = ""
		d.Provider.Status, d.Provider.Until = e.Status, e.PeriodEnd
		d.names = []string{e.SubscriptionID}
	case providerapi.Refunds:
		d.Provider.Amount, d.Provider.Status = usable(cmp.Or(e.Reversal.Amount, e.Reversal.Total)), string(e.Reversal.Status)
		d.names = []string{e.Reversal.ID, e.Transaction, e.Order}
	}
	return d
}

func usable(n events.Number) *int64 {
	if n.Bad {
		return nil
	}
	return n.Pointer()
}

// namesOf returns the names of the objects' payments, for unnest.
func namesOf(objects []providerapi.Object) (transactions, orders []string) {
	for i := range objects {
		transactions, orders = append(transactions, objects[i].Event.Transaction), append(orders, objects[i].Event.Order)
	}
	return transactions, orders
}

// paymentRow is a payment in the tables.
type paymentRow struct {
	name, user, currency, event string
	amount                      *int64
	at                          time.Time
	byOrder                     bool
}

func (c *run) comparePayments(ctx context.Context, tx pgx.Tx, objects []providerapi.Object) (found []Difference,
	err error,
) {
	transactions, orders := namesOf(objects)
	rows, err := numbered(ctx, tx, "read payments", func(row pgx.CollectableRow, number *int, p *paymentRow) error {
		return row.Scan(number, &p.name, &p.user, &p.amount, &p.currency, &p.event, &p.at, &p.byOrder)
	}, paymentsSQL, transactions, orders)
	if err != nil {
		return nil, err
	}
	var missing []providerapi.Object
	for i := range objects {
		o, row := &objects[i], rows[i+1]
		if row == nil {
			missing = append(missing, *o)
			continue
		}
		amount := usable(o.Event.Amount)
		isOther := amount != nil && (row.amount == nil || *row.amount != *amount && !slices.Contains(o.Amounts, *row.amount))
		if isOther || o.Event.Currency != "" && row.currency != "" && o.Event.Currency != row.currency {
			d := differs(OtherAmount, o, row.user, row.event)
			d.Payment, d.byOrder, d.Tables = row.name, row.byOrder, Side{Amount: row.amount, Currency: row.currency}
			found = append(found, *d)
		}
	}
	if len(missing) == 0 {
		return found, nil
	}
	lacking, err := c.missingPayments(ctx, tx, missing)
	return append(found, lacking...), err
}

// missingPayments are the payments that the tables do not have. If nothing was paid, the rules have decided so: a trial
// has begun, or nothing is known of it yet.
func (c *run) missingPayments(ctx context.Context, tx pgx.Tx, objects []providerapi.Object) (found []Difference,
	err error,
) {
	type event struct{ id, outcome, reason string }
	transactions, orders := namesOf(objects)
	rows, err := numbered(ctx, tx, "read the events of payments", func(row pgx.CollectableRow, number *int,
		e *event,
	) error {
		return row.Scan(number, &e.id, &e.outcome, &e.reason)
	}, rejectedSQL, transactions, orders)
	if err != nil {
		return nil, err
	}
	for i := range objects {
		o := &objects[i]
		if o.Event.Trial || o.Event.Amount.Present && o.Event.Amount.Value == 0 {
			continue
		}
		d := differs(MissingPayment, o, "", "")
		if row := rows[i+1]; row != nil {
			d.Event, d.Outcome, d.Reason = row.id, row.outcome, row.reason
		}
		found = append(found, *d)
	}
	return found, nil
}

// ended are the statuses of a subscription that has ended, or has not begun.
var ended = []string{events.Canceled, events.Expired, events.Incomplete}

// sameMoment is how far apart two times of one moment may be: providers write it with and without fractions of seconds.
const sameMoment = time.Minute

func (c *run) compareSubscriptions(ctx context.Context, tx pgx.Tx, objects []providerapi.Object) (found []Difference,
	err error,
) {
	type subscription struct {
		id, user, status, event string
		until                   *time.Time
		at                      time.Time
		own                     bool
	}
	ids := make([]string, len(objects))
	for i := range objects {
		ids[i] = objects[i].Event.SubscriptionID
	}
	rows, err := numbered(ctx, tx, "read subscriptions", func(row pgx.CollectableRow, number *int, s *subscription) error {
		return row.Scan(number, &s.id, &s.user, &s.status, &s.until, &s.event, &s.at, &s.own)
	}, subscriptionsSQL, ids, events.OwnEvents)
	if err != nil {
		return nil, err
	}
	for i := range objects {
		o, row := &objects[i], rows[i+1]
		e := &o.Event
		what := OtherStatus
		switch {
		case row == nil && slices.Contains(ended, e.Status):
			continue
		case row == nil:
			found = append(found, *differs(MissingSubscription, o, "", ""))
			continue
		case row.status != e.Status && (c.of.API.CanSay(row.status) || slices.Contains(ended, e.Status)):
		case slices.Contains(ended, e.Status), slices.Contains(ended, row.status), !isOtherEnd(e, row.until, row.own):
			continue
		default:
			what = OtherPeriod
		}
		d := differs(what, o, row.user, row.event)
		if d.Tables.Status = row.status; row.until != nil {
			d.Tables.Until = row.until.UTC()
		}
		found = append(found, *d)
	}
	return found, nil
}

// isOtherEnd reports whether the period ends at another time in the tables. It is that of one of the items, and the
// shop itself may have extended it.
func isOtherEnd(e *events.Event, inTables *time.Time, extended bool) bool {
	if e.PeriodEnd.IsZero() || inTables == nil {
		return false
	}
	return !slices.ContainsFunc(e.PeriodEnds(), func(end time.Time) bool {
		later := inTables.Sub(end)
		return later.Abs() <= sameMoment || later > 0 && extended && !end.IsZero()
	})
}

// refundRow is a payment in the tables, and the refund of it if they have that.
type refundRow struct {
	name, user, currency string
	refunded             int64 // of the payment, in all
	event                *string
	at                   *time.Time
	status               string
	amount               *int64
	amountIn             string // the currency of amount
	total                int64  // that an event has told since
}

// compareRefunds compares the refunds of payments that the tables have. Other payments are missing themselves, or none
// of the shop's.
func (c *run) compareRefunds(ctx context.Context, tx pgx.Tx, objects []providerapi.Object) (found []Difference,
	err error,
) {
	transactions, orders := namesOf(objects)
	ids, made := make([]string, len(objects)), make([]time.Time, len(objects))
	for i := range objects {
		ids[i], made[i] = objects[i].Event.Reversal.ID, objects[i].Event.OccurredAt
	}
	rows, err := numbered(ctx, tx, "read refunds", func(row pgx.CollectableRow, number *int, r *refundRow) error {
		return row.Scan(number, &r.name, &r.user, &r.currency, &r.refunded, &r.event, &r.at, &r.status, &r.amount, &r.amountIn, &r.total)
	}, refundsSQL, ids, transactions, orders, made)
	if err != nil {
		return nil, err
	}
	for i := range objects {
		row := rows[i+1]
		if row == nil {
			continue
		}
		what, amount := row.compare(&objects[i].Event.Reversal)
		if what == "" {
			continue
		}
		d := differs(what, &objects[i], row.user, "")
		if row.event != nil {
			d.Event = *row.event
		}
		d.Payment, d.Provider.Currency = row.name, cmp.Or(objects[i].Event.Reversal.Currency, row.currency)
		d.Tables = Side{Amount: amount, Currency: row.amountIn, Status: row.status}
		found = append(found, *d)
	}
	return found, nil
}

// compare returns how a refund of the provider differs, and the amount that the tables have; "" if it does not.
func (row *refundRow) compare(r *events.Reversal) (what What, inTables *int64) {
	succeeded := r.Status == events.Succeeded
	switch {
	case r.ID == "" && r.Total.Present && !r.Total.Bad: // the provider tells only the sum
		switch {
		case r.Total.Value == row.refunded:
			return "", nil
		case row.refunded == 0:
			return MissingRefund, nil
		}
		return OtherRefund, &row.refunded
	case row.event == nil && (!succeeded || cmp.Or(r.Currency, row.currency) == row.currency && usable(r.Amount) != nil && row.total >= r.Amount.Value):
		return "", nil
	case row.event == nil:
		return MissingRefund, nil
	case succeeded != (row.status == string(events.Succeeded)):
		return OtherRefund, row.amount
	case succeeded && usable(r.Amount) != nil && row.amount != nil && *row.amount != r.Amount.Value:
		return OtherRefund, row.amount
	}
	return "", nil
}

// numbered reads rows that begin with a number from 1, at most one each.
func numbered[T any](ctx context.Context, tx pgx.Tx, doing string, scan func(pgx.CollectableRow, *int, *T) error,
	sql string, args ...any,
) (map[int]*T, error) {
	rows, _ := tx.Query(ctx, sql, args...) // CollectRows returns its error
	out := map[int]*T{}
	_, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (struct{}, error) {
		var number int
		var one T
		err := scan(row, &number, &one)
		out[number] = &one
		return struct{}{}, err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	return out, nil
}
