package browse

import (
	"context"
	"fmt"
	"maps"
	"math"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/report"
	"github.com/payfold/payfold/internal/tables"
)

const (
	// window bounds the messages that a page looks at to find those that no index has. The log has
	// them in order, so they are in few pages of the table.
	window = 50_000
	// namedWindow is window for the events of one user, payment or subscription. They are scattered
	// over the table.
	namedWindow = 10_000

	// clockSlack is how much earlier an event may have been received than one before it in the log:
	// ingest takes the time before it has the whole body, several may run, and clocks are set.
	// Where the log is off by more, the limits of time miss events.
	clockSlack = 10 * time.Minute
)

// search is a list of events that is read from an index in the order of the log.
type search struct {
	column string // has one of @names; empty: the list is of all events

	from, before int64 // the sequences that matter: from ≤ seq < before

	conditions []string // that no index serves
	args       pgx.NamedArgs
}

func newSearch(ctx context.Context, tx pgx.Tx, f Filter) (*search, error) {
	s := &search{before: f.Before, args: pgx.NamedArgs{}}
	if s.before == 0 {
		s.before = math.MaxInt64
	}
	if f.Payment != "" {
		names, err := paymentNames(ctx, tx, storable(f.Payment))
		if err != nil {
			return nil, err
		}
		s.by("provider_payment_id", names)
	}
	if f.Subscription != "" {
		s.by("subscription_id", []string{storable(f.Subscription)})
	}
	if f.User != "" {
		s.by("user_id", []string{storable(f.User)})
	}
	if prefix, wild := strings.CutSuffix(f.Type, "*"); wild {
		s.require("starts_with(w.event_type, @event_type)", "event_type", storable(prefix))
	} else if f.Type != "" {
		s.require("w.event_type = @event_type", "event_type", storable(f.Type))
	}
	for _, equal := range [][2]string{{"outcome", f.Outcome}, {"reason", f.Reason}, {"kind", f.Kind}} {
		if column, value := equal[0], equal[1]; value != "" {
			s.require("w."+column+" = @"+column, column, storable(value))
		}
	}
	return s, s.limitTime(ctx, tx, f)
}

// by limits the list to names of a column. The first column that limits it gives the index.
func (s *search) by(column string, names []string) {
	if s.column == "" {
		s.column, s.args["names"] = column, names
		return
	}
	s.require("w."+column+" = any(@"+column+")", column, names)
}

func (s *search) require(condition, name string, value any) {
	s.conditions = append(s.conditions, condition)
	s.args[name] = value
}

// limitTime finds the sequences between which the events were received in that time.
func (s *search) limitTime(ctx context.Context, tx pgx.Tx, f Filter) (err error) {
	if !f.From.IsZero() {
		s.require("w.received_at >= @received_from", "received_from", f.From)
		if s.from, err = seqAt(ctx, tx, f.From.Add(-clockSlack)); err != nil {
			return err
		}
	}
	if !f.To.IsZero() {
		s.require("w.received_at < @received_to", "received_to", f.To)
		end, err := seqAt(ctx, tx, f.To.Add(clockSlack))
		if err != nil {
			return err
		}
		s.before = min(s.before, end)
	}
	return nil
}

// found is a page of sequences; see EventList.
type found struct {
	seqs       []int64
	next       *int64
	searchedTo int64
	complete   bool
}

func (s *search) page(ctx context.Context, tx pgx.Tx, limit int) (out found, err error) {
	floor, err := s.floor(ctx, tx)
	if err != nil {
		return out, err
	}
	if out.seqs, err = s.seqs(ctx, tx, floor, limit+1); err != nil {
		return out, err
	}
	out.searchedTo, out.complete = floor, true
	if len(out.seqs) > limit {
		out.seqs = out.seqs[:limit]
		out.searchedTo = out.seqs[limit-1]
		out.next = &out.searchedTo
		return out, nil
	}
	if out.complete, err = s.endsAt(ctx, tx, floor); err == nil && !out.complete {
		out.next = &out.searchedTo
	}
	return out, err
}

// floor is the sequence down to which a page may look.
func (s *search) floor(ctx context.Context, tx pgx.Tx) (floor int64, err error) {
	sql := "select coalesce(max(stream_seq), 0) - @window + 1 from processed_event where stream_seq >= @from and stream_seq < @before"
	switch {
	case len(s.conditions) == 0:
		return s.from, nil
	case s.column != "":
		sql = fmt.Sprintf(`select coalesce(max(w.stream_seq), 0) from unnest(@names::text[]) as n(name) cross join lateral (
			select stream_seq from processed_event where %s = n.name and stream_seq >= @from and stream_seq < @before
			order by stream_seq desc offset @window - 1 limit 1) w`, s.column)
	}
	err = tx.QueryRow(ctx, sql, s.with(s.from, s.window())).Scan(&floor)
	return max(floor, s.from), err
}

// seqs returns the first sequences of the list, down to floor.
func (s *search) seqs(ctx context.Context, tx pgx.Tx, floor int64, limit int) ([]int64, error) {
	list, looked := "(select * from processed_event where stream_seq >= @from and stream_seq < @before) w", limit
	if s.column != "" {
		list = fmt.Sprintf(`unnest(@names::text[]) as n(name) cross join lateral (
			select * from processed_event where %s = n.name and stream_seq >= @from and stream_seq < @before
			order by stream_seq desc limit @window) w`, s.column)
	}
	if len(s.conditions) > 0 {
		looked = s.window()
	}
	sql := fmt.Sprintf("select w.stream_seq from %s where %s order by w.stream_seq desc limit %d",
		list, strings.Join(append([]string{"true"}, s.conditions...), " and "), limit)
	rows, err := tx.Query(ctx, sql, s.with(floor, looked))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[int64])
}

func (s *search) window() int {
	if s.column != "" {
		return namedWindow
	}
	return window
}

func (s *search) with(from int64, window int) pgx.NamedArgs {
	args := maps.Clone(s.args)
	args["from"], args["before"], args["window"] = from, s.before, window
	return args
}

// endsAt reports whether the list has nothing before floor.
func (s *search) endsAt(ctx context.Context, tx pgx.Tx, floor int64) (ends bool, err error) {
	if floor <= s.from {
		return true, nil
	}
	if s.column != "" {
		return false, nil
	}
	err = tx.QueryRow(ctx, "select not exists (select from processed_event where stream_seq >= $1 and stream_seq < $2)", s.from, floor).Scan(&ends)
	return ends, err
}

// seqAt returns the first sequence from which on all events were received at a moment or later. It
// bisects the index: received_at grows with the sequence, apart from clockSlack.
func seqAt(ctx context.Context, tx pgx.Tx, at time.Time) (int64, error) {
	var low, high int64
	err := tx.QueryRow(ctx, "select coalesce(min(stream_seq), 0), coalesce(max(stream_seq) + 1, 0) from processed_event").Scan(&low, &high)
	for err == nil && low < high {
		middle := low + (high-low)/2
		var seq int64
		var received time.Time
		err = tx.QueryRow(ctx, "select stream_seq, received_at from processed_event where stream_seq >= $1 order by stream_seq limit 1", middle).
			Scan(&seq, &received)
		if received.Before(at) {
			low = seq + 1
		} else {
			high = middle
		}
	}
	if err != nil {
		return 0, fmt.Errorf("look for the events at %s: %w", at.Format(time.RFC3339), err)
	}
	return low, nil
}

// paymentNames returns the names under which events may have the payment. An event can name a
// payment that no table has.
func paymentNames(ctx context.Context, tx pgx.Tx, name string) ([]string, error) {
	names := []string{name}
	payments, err := tables.PaymentsNamed(ctx, tx, names)
	for _, p := range payments {
		names = append(names, report.PaymentNames(p)...)
	}
	return cleanNames(names), err
}

// storable replaces what no text in the tables has.
func storable(text string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", "\uFFFD"), "\uFFFD")
}
