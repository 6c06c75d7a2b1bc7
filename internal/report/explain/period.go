package explain

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/report/page"
	"github.com/payfold/payfold/internal/tables"
)

// maxOfPeriod bounds the payments of one period that are read: the first ones.
const maxOfPeriod = 20

// readPeriods reads the payments that grant in the periods of these payments.
func (r related) readPeriods(ctx context.Context, tx pgx.Tx, payments []projections.Payment) error {
	var subscriptions, users []string
	var ends []time.Time
	seen := map[projections.Period]bool{{}: true}
	for i := range payments {
		p := &payments[i]
		if of := p.Period(); !seen[of] {
			seen[of] = true
			subscriptions, users, ends = append(subscriptions, p.SubscriptionID), append(users, p.UserID), append(ends, p.PeriodEnd)
		}
	}
	if len(ends) == 0 {
		return nil
	}
	found, err := tables.Payments.Rows(ctx, tx, `where provider_payment_id in (
		select p.provider_payment_id from unnest($1::text[], $2::text[], $3::timestamptz[]) as of(subscription, customer, ends)
		cross join lateral (
			select provider_payment_id from payment_facts
			where subscription_id = of.subscription and period_end = of.ends and user_id = of.customer and credits is not null
			order by occurred_at limit $4
		) p
	)`, subscriptions, users, ends, maxOfPeriod)
	r.addPeriods(found)
	return err
}

// addPeriods adds those of the payments that grant in a period.
func (r related) addPeriods(payments []projections.Payment) {
	for _, p := range payments {
		if of := p.Period(); of != (projections.Period{}) && p.Credits != nil {
			r.Periods[of] = append(r.Periods[of], p)
		}
	}
	for _, all := range r.Periods {
		slices.SortFunc(all, func(a, b projections.Payment) int { return projections.InPeriod(&a, &b) })
	}
}

// besideOthers says that the payment grants less than it would alone, because earlier payments of its period grant.
func (y story) besideOthers() string {
	var earlier []string
	for _, p := range y.rows.Periods[y.payment.Period()] {
		if projections.InPeriod(&p, &y.payment) < 0 {
			earlier = append(earlier, page.Name(p.ProviderPaymentID))
		}
	}
	if len(earlier) == 0 {
		return ""
	}
	rest := "only the rest"
	if y.payment.Credits == nil {
		rest = "nothing"
	}
	return " One period grants as much as its largest payment." +
		fmt.Sprintf(" Before this one the period had the credits of %s, so this one grants %s.", strings.Join(earlier, ", "), rest)
}
