package browse

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/store"
)

// RevenueDay is one day's money in one currency for one kind, in minor units. A payment counts on
// its own day and a reversal on its own.
//
// All sums equal those of the table revenue_daily, but do not wrap. The table's columns of rejected events are left
// out, because the amounts of these events are only in the log.
type RevenueDay struct {
	Day      time.Time `json:"day"` // its start, UTC
	Currency string    `json:"currency"`
	Kind     string    `json:"kind"`
	Payments int64     `json:"payments"`
	Gross    Sum       `json:"gross"`
	Refunded Sum       `json:"refunded"`
	Net      Sum       `json:"net"`
}

// RevenueAnswer has the revenue of some days. Its Moment is the moment of the computation.
type RevenueAnswer struct {
	Moment
	Days []RevenueDay `json:"days"` // the newest first
	// Fault says why the days cannot be added up.
	Fault string `json:"fault,omitempty"`
}

const (
	// revenueTimeout limits the time for which all payments are read. A promotion waits for five
	// seconds for older readers, and then gives up.
	revenueTimeout = 4 * time.Second
	// Revenue is added up again after revenueAge, or after revenuePause times the time that it
	// took, whichever is longer.
	revenueAge   = 30 * time.Second
	revenuePause = 20
)

// Revenues adds up the revenue of all days, and keeps the result for a while. It is safe for concurrent use.
type Revenues struct {
	mu    sync.Mutex // held while payments are read: one reads for all
	known map[string]revenue
}

// NewRevenues returns Revenues that know nothing yet.
func NewRevenues() *Revenues { return &Revenues{known: map[string]revenue{}} }

// revenue is the revenue of one schema.
type revenue struct {
	RevenueAnswer
	tables store.TablesID
	took   time.Duration
}

// Last returns the revenue of the last days, including the present day. It reads all payments for this, if nobody has
// asked within the last half minute. If this takes more than four seconds, the answer has a Fault: the tables are too
// large, and projector rebuild --with revenue_daily adds up the days.
func (r *Revenues) Last(ctx context.Context, db *store.Store, days int) (RevenueAnswer, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.known[db.Schema()]
	var sum revenue
	err := db.View(ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
		sum = revenue{}
		now, err := readMoment(ctx, tx, db.Schema())
		if err != nil {
			return err
		}
		if sum.tables, err = db.FindTables(ctx, tx); err != nil {
			return err
		}
		if known.tables == sum.tables && now.At.Sub(known.At) < max(revenueAge, revenuePause*known.took) {
			sum = known
			return nil
		}
		sum.Moment = now
		return sum.add(ctx, tx)
	})
	switch {
	case err != nil && (ctx.Err() != nil || sum.At.IsZero()):
		return RevenueAnswer{}, err
	case store.StatementTimedOut(err):
		sum.Fault = fmt.Sprintf("it takes longer than %s; use projector rebuild --with revenue_daily", revenueTimeout)
	case err != nil:
		sum.Fault = err.Error()
	}
	r.known[db.Schema()] = sum
	return sum.last(days), nil
}

// add adds up the days.
func (r *revenue) add(ctx context.Context, tx pgx.Tx) (err error) {
	if _, err := tx.Exec(ctx, "select set_config('statement_timeout', $1, true)", store.Milliseconds(revenueTimeout)); err != nil {
		return err
	}
	began := time.Now()
	r.Days, err = readRevenue(ctx, tx)
	r.took = time.Since(began)
	return err
}

func (r revenue) last(days int) RevenueAnswer {
	out := r.RevenueAnswer
	first := out.At.UTC().Truncate(24*time.Hour).AddDate(0, 0, 1-days)
	end := sort.Search(len(out.Days), func(i int) bool { return out.Days[i].Day.Before(first) })
	out.Days = out.Days[:end:end]
	return out
}

//go:embed revenue_paid.sql
var revenuePaidSQL string

func readRevenue(ctx context.Context, tx pgx.Tx) ([]RevenueDay, error) {
	days := revenueDays{}
	rows, _ := tx.Query(ctx, revenuePaidSQL) // ForEachRow returns its error
	var d RevenueDay
	var gross string
	_, err := pgx.ForEachRow(rows, []any{&d.Day, &d.Currency, &d.Kind, &d.Payments, &gross}, func() (err error) {
		d.Gross, err = parseSum(gross)
		*days.at(d.Day, d.Currency, d.Kind) = d
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := days.addReversals(ctx, tx); err != nil {
		return nil, err
	}
	return days.list(), nil
}

type revenueKey struct {
	day            int64
	currency, kind string
}

type revenueDays map[revenueKey]*RevenueDay

func (days revenueDays) at(moment time.Time, currency, kind string) *RevenueDay {
	day := moment.UTC().Truncate(24 * time.Hour)
	key := revenueKey{day.Unix(), cmp.Or(currency, "unknown"), cmp.Or(kind, "unknown")}
	if days[key] == nil {
		days[key] = &RevenueDay{Day: day, Currency: key.currency, Kind: key.kind}
	}
	return days[key]
}

//go:embed revenue_reversals.sql
var revenueReversalsSQL string

// addReversals adds to Refunded of each day what its reversals have taken back. It holds those of one payment in memory.
func (days revenueDays) addReversals(ctx context.Context, tx pgx.Tx) error {
	var of projections.Payment
	var own []projections.Reversal
	addOwn := func() {
		for i, amount := range projections.TakenBack(own, of) {
			day := days.at(own[i].OccurredAt, of.Currency, of.Kind)
			day.Refunded = day.Refunded.Add(SumOf(amount))
		}
		own = own[:0]
	}
	rows, _ := tx.Query(ctx, revenueReversalsSQL) // ForEachRow returns its error
	var p projections.Payment
	var r projections.Reversal
	_, err := pgx.ForEachRow(rows, []any{&p.ProviderPaymentID, &p.Amount, &p.Currency, &p.Kind, &r.EventID, &r.ReversalID, &r.Status, &r.Amount, &r.Total, &r.Paid, &r.Credits, &r.OccurredAt}, func() error {
		if p.ProviderPaymentID != of.ProviderPaymentID {
			addOwn()
			of = p
		}
		own = append(own, r)
		return nil
	})
	addOwn()
	return err
}

// list returns the days, the newest first.
func (days revenueDays) list() []RevenueDay {
	out := make([]RevenueDay, 0, len(days))
	for _, d := range days {
		if d.Payments == 0 && d.Gross == (Sum{}) && d.Refunded == (Sum{}) {
			continue
		}
		d.Net = d.Gross.Sub(d.Refunded)
		out = append(out, *d)
	}
	slices.SortFunc(out, func(a, b RevenueDay) int {
		return cmp.Or(b.Day.Compare(a.Day), cmp.Compare(a.Currency, b.Currency), cmp.Compare(a.Kind, b.Kind))
	})
	return out
}
