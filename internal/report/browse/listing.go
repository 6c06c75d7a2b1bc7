package browse

import (
	"context"
	"fmt"
	"maps"
	"math"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/report/explain"
	"github.com/payfold/payfold/internal/tables"
)

const (
	// window bounds the messages that a page looks at if no index has the wanted ones. Messages
	// that follow each other in the log lie together in the table, so this reads few of its pages.
	window = 50_000
	// namedWindow is the window for the events of one user, payment or subscription. These are
	// scattered over the table.
	namedWindow = 10_000
)

// listing is a list of events that is read from an index in the order of the log: that of all events, that of a name, or
// that of the rejected ones.
type listing struct {
	column   string // the events have one of @names in it; empty: any
	rejected bool   // the events are rejected, and no column is given

	from, before int64 // the sequences that matter: from ≤ seq < before

	conditions []string // conditions that no index serves
	args       pgx.NamedArgs
}

func newListing(ctx context.Context, tx pgx.Tx, f Filter) (*listing, error) {
	l := &listing{before: f.Before, args: pgx.NamedArgs{}}
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
		l.require("starts_with(w.event_type, @event_type)", "event_type", explain.Storable(prefix))
	} else if f.Type != "" {
		l.require("w.event_type = @event_type", "event_type", explain.Storable(f.Type))
	}
	for _, equal := range [][2]string{{"outcome", f.Outcome}, {"reason", f.Reason}, {"kind", f.Kind}} {
		if column, value := equal[0], equal[1]; value != "" {
			l.require("w."+column+" = @"+column, column, explain.Storable(value))
		}
	}
	// Every reason but one is that of a rejection.
	l.rejected = l.column == "" && (f.Outcome == string(projections.Rejected) || f.Reason != "" && f.Reason != string(projections.NotPaid))
	return l, l.limitTime(ctx, tx, f)
}

// events are those of the index, if the list has no column.
func (l *listing) events() string {
	if l.rejected {
		return "processed_event where outcome = 'rejected' and"
	}
	return "processed_event where"
}

// by limits the list to events with one of these names in a column. The first such column decides
// which index is read.
func (l *listing) by(column string, names []string) {
	if l.column == "" {
		l.column, l.args["names"] = column, names
		return
	}
	l.require("w."+column+" = any(@"+column+")", column, names)
}

func (l *listing) require(condition, name string, value any) {
	l.conditions = append(l.conditions, condition)
	l.args[name] = value
}

// limitTime limits the list to events that were received in the filter's time, and to the sequences
// between which they can be. If clocks differ by more than explain.ClockSlack, it misses events.
func (l *listing) limitTime(ctx context.Context, tx pgx.Tx, f Filter) (err error) {
	if !f.From.IsZero() {
		l.require("w.received_at >= @received_from", "received_from", f.From)
		if l.from, err = explain.SeqAt(ctx, tx, f.From.Add(-explain.ClockSlack)); err != nil {
			return err
		}
	}
	if !f.To.IsZero() {
		l.require("w.received_at < @received_to", "received_to", f.To)
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
	floor, err := l.floor(ctx, tx)
	if err != nil {
		return out, nil, err
	}
	if seqs, err = l.seqs(ctx, tx, floor, limit+1); err != nil {
		return out, nil, err
	}
	if len(seqs) > limit {
		seqs = seqs[:limit]
		last := seqs[limit-1]
		return EventList{Next: &last, SearchedTo: last, Complete: true}, seqs, nil
	}
	out.SearchedTo = floor
	if out.Complete, err = l.endsAt(ctx, tx, floor); !out.Complete {
		out.Next = &floor
	}
	return out, seqs, err
}

// floor is the sequence down to which a page may look.
func (l *listing) floor(ctx context.Context, tx pgx.Tx) (floor int64, err error) {
	sql := "select coalesce(max(stream_seq), 0) - @window + 1 from processed_event where stream_seq >= @from and stream_seq < @before"
	switch {
	case len(l.conditions) == 0:
		return l.from, nil
	case l.rejected:
		sql = `select coalesce((select stream_seq from processed_event
			where outcome = 'rejected' and stream_seq >= @from and stream_seq < @before
			order by stream_seq desc offset @window - 1 limit 1), 0)`
	case l.column != "":
		sql = fmt.Sprintf(`select coalesce(max(w.stream_seq), 0) from unnest(@names::text[]) as n(name) cross join lateral (
			select stream_seq from processed_event where %s = n.name and stream_seq >= @from and stream_seq < @before
			order by stream_seq desc offset @window - 1 limit 1) w`, l.column)
	}
	err = tx.QueryRow(ctx, sql, l.with(l.from, l.window())).Scan(&floor)
	return max(floor, l.from), err
}

// seqs returns the first sequences of the list, down to floor.
func (l *listing) seqs(ctx context.Context, tx pgx.Tx, floor int64, limit int) ([]int64, error) {
	list, looked := "(select * from "+l.events()+" stream_seq >= @from and stream_seq < @before) w", limit
	if l.column != "" {
		list = fmt.Sprintf(`unnest(@names::text[]) as n(name) cross join lateral (
			select * from processed_event where %s = n.name and stream_seq >= @from and stream_seq < @before
			order by stream_seq desc limit @window) w`, l.column)
	}
	if len(l.conditions) > 0 {
		looked = l.window()
	}
	sql := fmt.Sprintf("select w.stream_seq from %s where %s order by w.stream_seq desc limit %d",
		list, strings.Join(append([]string{"true"}, l.conditions...), " and "), limit)
	rows, _ := tx.Query(ctx, sql, l.with(floor, looked)) // CollectRows returns its error
	return pgx.CollectRows(rows, pgx.RowTo[int64])
}

func (l *listing) window() int {
	if l.column != "" || l.rejected {
		return namedWindow
	}
	return window
}

func (l *listing) with(from int64, window int) pgx.NamedArgs {
	args := maps.Clone(l.args)
	args["from"], args["before"], args["window"] = from, l.before, window
	return args
}

// endsAt reports whether the list has nothing before floor.
func (l *listing) endsAt(ctx context.Context, tx pgx.Tx, floor int64) (ends bool, err error) {
	if floor <= l.from {
		return true, nil
	}
	if l.column != "" {
		return false, nil
	}
	err = tx.QueryRow(ctx, "select not exists (select from "+l.events()+" stream_seq >= $1 and stream_seq < $2)", l.from, floor).Scan(&ends)
	return ends, err
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
