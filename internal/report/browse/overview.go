package browse

import (
	"cmp"
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/lag"
	"github.com/payfold/payfold/internal/reconcile"
	"github.com/payfold/payfold/internal/report/explain"
	"github.com/payfold/payfold/internal/report/page"
	"github.com/payfold/payfold/internal/report/status"
	"github.com/payfold/payfold/internal/store"
)

// OverviewAnswer shows the state of the work and the newest events, at one moment.
type OverviewAnswer struct {
	HealthAnswer
	Newest   []explain.WithWhy `json:"newest"` // the newest first
	Compared []reconcile.Kept  `json:"reconciled"`
}

// Overview reads the answer for a start page, with at most newest events.
func Overview(ctx context.Context, log lag.Log, db *store.Store, newest int) (OverviewAnswer, error) {
	out, err := viewEvents(ctx, db, func(ctx context.Context, tx pgx.Tx, now Moment) (out OverviewAnswer, err error) {
		if out.HealthAnswer, err = readHealth(ctx, tx, now); err != nil {
			return out, err
		}
		list, err := readEvents(ctx, tx, now, Filter{}, newest)
		if err != nil {
			return out, err
		}
		out.Newest = list.Items
		out.Compared, err = reconcile.AllKept(ctx, tx)
		return out, err
	})
	if err != nil {
		return OverviewAnswer{}, err
	}
	out.Status = status.WithLog(ctx, log, *out.Database, nil)
	return out, nil
}

// Figures are what a start page counts and adds up of many events. So they are kept for a while; their Moment is that of
// the earliest computation.
type Figures struct {
	Totals
	Today     ReceivedDay `json:"today"`
	Yesterday ReceivedDay `json:"yesterday"`
	Ungranted []Ungranted `json:"ungranted"` // by currency, the most money first
	Disputes  []Disputes  `json:"disputes"`  // of the last week
	Unclaimed []Amounts   `json:"waiting_for_user_money"`
	// Fault says why there are no figures.
	Fault string `json:"fault,omitempty"`
}

// Figures returns the figures. They are computed again after 20 times as long as it took.
func (m *Measures) Figures(ctx context.Context, db *store.Store) (out Figures, err error) {
	var counted measured[Figures]
	var purchases measured[[]Ungranted]
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) { counted, err = m.figures.get(ctx, db); return err })
	group.Go(func() (err error) { purchases, err = m.ungranted.get(ctx, db); return err })
	if err := group.Wait(); err != nil {
		return out, err
	}
	out = counted.value
	out.Moment, out.Ungranted, out.Fault = counted.Moment, purchases.value, cmp.Or(counted.fault, purchases.fault)
	if purchases.At.Before(out.At) {
		out.Moment = purchases.Moment
	}
	return out, nil
}

func readFiguresOfToday(ctx context.Context, tx pgx.Tx, now Moment, zone *time.Location) (Figures, error) {
	today := page.DateOf(now.At, zone)
	return readFigures(ctx, tx, now, page.StartOfDay(today.AddDate(0, 0, -1), zone), page.StartOfDay(today, zone))
}

// readFigures reads the figures. today and yesterday are when these days began.
func readFigures(ctx context.Context, tx pgx.Tx, now Moment, yesterday, today time.Time) (f Figures, err error) {
	if _, err := tx.Exec(ctx, inOrderOfIndexes); err != nil {
		return f, err
	}
	if f.Totals, err = totals(ctx, tx, now, window); err != nil {
		return f, err
	}
	if f.Today, err = readReceivedDay(ctx, tx, today, now.At.Add(explain.ClockSlack), window); err != nil {
		return f, err
	}
	if f.Yesterday, err = readReceivedDay(ctx, tx, yesterday, today, window); err != nil {
		return f, err
	}
	if f.Disputes, err = readDisputes(ctx, tx, now.At, window); err != nil {
		return f, err
	}
	f.Unclaimed, err = readAmounts(ctx, tx, "the payments without a customer", waitingMoneySQL)
	return f, err
}
