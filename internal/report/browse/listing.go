package browse

import (
	"context"
	"math"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/report/explain"
	"github.com/payfold/payfold/internal/tables"
)

const (
	// window bounds the events that a page looks at if no index has the wanted ones. Events that follow each other in
	// the log lie together in the table, so this reads few of its pages.
	window = 50_000
	// namedWindow is the window for the events of one user, payment or subscription, and for the rejected ones. These are
	// scattered over the table.
	namedWindow = 10_000
)

// listing is a list of events that is read from an index in the order of the log: that of all events, that of a name, or
// that of the rejected ones.
type listing struct {
	where  conditions
	column string // the events have one of @names in it; empty: any

	from, before int64 // the sequences that matter: from ≤ seq < before

	walk   string // selects the events of the index, the newest first, at most @window
	window int
}

func newListing(ctx context.Context, tx pgx.Tx, f Filter) (*listing, error) {
	l := &listing{where: conditions{args: pgx.NamedArgs{}}, before: f.Before}
	if l.before == 0 {
		l.before = math.MaxInt64
	}
	if f.Payment != "" {
		names, err := paymentNames(ctx, tx, explain.Storable(f.Payment))
		if err != nil {
			return nil, err
		}
		l.by("provider_payment_id", names)
	}
	if f.Subscription != "" {
		l.by("subscription_id", []string{explain.Storable(f.Subscription)})
	}
	if f.User != "" {
		l.by("user_id", []string{explain.Storable(f.User)})
	}
	if prefix, wild := strings.CutSuffix(f.Type, "*"); wild {
		l.where.add("starts_with(w.event_type, @event_type)", "event_type", explain.Storable(prefix))
	} else {
		l.where.equal("w.event_type", explain.Storable(f.Type))
	}
	l.where.equal("w.outcome", explain.Storable(f.Outcome))
	l.where.equal("w.reason", explain.Storable(f.Reason))
	l.where.equal("w.kind", explain.Storable(f.Kind))
	l.where.between("w.received_at", f.From, f.To)
	l.choose(f)
	err := l.limitSequences(ctx, tx, f)
	l.where.args["from"], l.where.args["before"] = l.from, l.before
	return l, err
}

// by limits the list to events with one of these names in a column. The first such column decides
// which index is read.
func (l *listing) by(column string, names []string) {
	if l.column == "" {
		l.column, l.where.args["names"] = column, names
		return
	}
	l.where.add("w."+column+" = any(@"+column+")", column, names)
}

// choose chooses the index.
func (l *listing) choose(f Filter) {
	const newestFirst = "stream_seq >= @from and stream_seq < @before order by stream_seq desc limit @window"
	switch {
	case l.column != "":
		l.window = namedWindow
		l.walk = `select e.* from unnest(@names::text[]) as n(name) cross join lateral (
			select * from processed_event where ` + l.column + ` = n.name and ` + newestFirst + `) e
			order by e.stream_seq desc limit @window`
	case f.Outcome == string(projections.Rejected) || f.Reason != "" && f.Reason != string(projections.NotPaid):
		// Every reason but one is that of a rejection.
		l.window, l.walk = namedWindow, "select * from processed_event where outcome = 'rejected' and "+newestFirst
	default:
		l.window, l.walk = window, "select * from processed_event where "+newestFirst
	}
}

// limitSequences sets the sequences between which events that were received in the filter's time can be. If clocks
// differ by more than explain.ClockSlack, the list misses events.
func (l *listing) limitSequences(ctx context.Context, tx pgx.Tx, f Filter) (err error) {
	if !f.From.IsZero() {
		if l.from, err = explain.SeqAt(ctx, tx, f.From.Add(-explain.ClockSlack)); err != nil {
			return err
		}
	}
	if !f.To.IsZero() {
		end, err := explain.SeqAt(ctx, tx, f.To.Add(explain.ClockSlack))
		if err != nil {
			return err
		}
		l.before = min(l.before, end)
	}
	return nil
}

// page returns a page of the list without its items, and the sequences of the items.
func (l *listing) page(ctx context.Context, tx pgx.Tx, limit int) (out EventList, seqs []int64, err error) {
	const order = "stream_seq desc"
	seqs, last, err := look(ctx, tx, pgx.RowTo[int64], "w.stream_seq", l.walk, order, &l.where, l.window, limit)
	out = EventList{Next: last, SearchedTo: l.from, Complete: true}
	if last != nil {
		out.SearchedTo, out.Complete = *last, len(seqs) == limit
	}
	return out, seqs, err
}

// paymentNames returns the names under which events may have the payment. An event can name a
// payment that no table has.
func paymentNames(ctx context.Context, tx pgx.Tx, name string) ([]string, error) {
	names := []string{name}
	payments, err := tables.PaymentsNamed(ctx, tx, names)
	for _, p := range payments {
		names = append(names, explain.PaymentNames(p)...)
	}
	return cleanNames(names), err
}
