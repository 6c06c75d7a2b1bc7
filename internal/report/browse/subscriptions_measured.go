package browse

import (
	"context"
	_ "embed"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/report/page"
)

// SubscriptionPeriod counts the subscriptions of one period. Active is the number at its end, or now.
type SubscriptionPeriod struct {
	Period
	New    int64    `json:"new"`
	Ended  int64    `json:"ended"`
	Active int64    `json:"active"`
	Churn  *float64 `json:"churn"` // Ended of those that were active when the period began; nil: none were
}

// lives counts the subscriptions that began on one date and ended on another.
type lives struct {
	began time.Time
	ended *time.Time // nil: they are active
	count int64
}

//go:embed measured_subscriptions.sql
var subscriptionsSQL string

func readSubscriptions(ctx context.Context, tx pgx.Tx, _ Moment, zone *time.Location) ([]lives, error) {
	rows, _ := tx.Query(ctx, subscriptionsSQL, zone.String()) // CollectRows returns its error
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (l lives, err error) {
		return l, row.Scan(&l.began, &l.ended, &l.count)
	})
}

// countSubscriptions counts the subscriptions of each period of the span.
func countSubscriptions(all []lives, span Span) []SubscriptionPeriod {
	periods, at := span.Periods(), span.places()
	out := make([]SubscriptionPeriod, len(periods))
	for i, p := range periods {
		out[i].Period = p
	}
	var active int64 // when the span begins
	for _, l := range all {
		if l.began.Before(span.first) {
			active += l.count
		} else if i, has := at[span.By.start(l.began)]; has {
			out[i].New += l.count
		}
		if l.ended == nil {
			continue
		}
		if l.ended.Before(span.first) {
			active -= l.count
		} else if i, has := at[span.By.start(*l.ended)]; has {
			out[i].Ended += l.count
		}
	}
	for i := range out {
		out[i].Churn = share(out[i].Ended, active)
		active += out[i].New - out[i].Ended
		out[i].Active = active
	}
	return out
}

// share is a part of a whole; nil if there is no whole.
func share(part, whole int64) *float64 {
	if whole == 0 {
		return nil
	}
	return new(float64(part) / float64(whole))
}

// TrialPeriod counts the trials that began in one period.
type TrialPeriod struct {
	Period
	Begun     int64    `json:"begun"`
	Running   int64    `json:"running"`
	Converted int64    `json:"converted"`
	Rate      *float64 `json:"rate"` // Converted of those that do not run any more; nil: all run
}

// trial is one subscription's trial.
type trial struct {
	began              time.Time // the date
	running, converted bool
}

//go:embed measured_trials.sql
var trialsSQL string

func readTrials(ctx context.Context, tx pgx.Tx, _ Moment, zone *time.Location) (all []trial, err error) {
	rows, _ := tx.Query(ctx, trialsSQL) // ForEachRow returns its error
	var written []byte
	var paid *time.Time
	var inTrial [][]byte
	var running bool
	_, err = pgx.ForEachRow(rows, []any{&written, &paid, &inTrial, &running}, func() error {
		facts, err := projections.ReadFacts(string(written))
		if err != nil {
			return err
		}
		first := facts.TrialBegan()
		if first == nil {
			return nil
		}
		converted := paid != nil && !paid.Before(first.At)
		for _, written := range inTrial {
			payment, err := projections.ReadFacts(string(written))
			if err != nil {
				return err
			}
			converted = converted || payment.PaysAfter(first)
		}
		all = append(all, trial{page.DateOf(first.At, zone), running && !converted, converted})
		return nil
	})
	return all, err
}

func countTrials(all []trial, span Span) []TrialPeriod {
	periods, at := span.Periods(), span.places()
	out := make([]TrialPeriod, len(periods))
	for i, p := range periods {
		out[i].Period = p
	}
	for _, t := range all {
		i, has := at[span.By.start(t.began)]
		if !has {
			continue
		}
		out[i].Begun++
		if t.running {
			out[i].Running++
		}
		if t.converted {
			out[i].Converted++
		}
	}
	for i := range out {
		out[i].Rate = share(out[i].Converted, out[i].Begun-out[i].Running)
	}
	return out
}
