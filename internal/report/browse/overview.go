package browse

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/invitations"
	"github.com/payfold/payfold/internal/lag"
	"github.com/payfold/payfold/internal/reconcile"
	"github.com/payfold/payfold/internal/report/explain"
	"github.com/payfold/payfold/internal/report/status"
	"github.com/payfold/payfold/internal/store"
)

// OverviewAnswer shows the state of the work, the outcomes of the newest events, and some of these events, all
// at one moment. The state of the log is read just after it.
type OverviewAnswer struct {
	Totals
	status.Status
	Today     Today               `json:"today"`
	Ungranted []Ungranted         `json:"ungranted"` // the most money first
	Disputes  []Amounts           `json:"disputes"`  // of the last week
	Unclaimed []Amounts           `json:"waiting_for_user_money"`
	Silence   Silence             `json:"silence"`
	Newest    []explain.WithWhy   `json:"newest"` // the newest first
	Compared  []reconcile.Kept    `json:"reconciled"`
	Pauses    []invitations.Pause `json:"-"` // of invitations, in force
}

// Overview reads the answer for a start page, with at most newest events. today says when the day of a moment began.
func Overview(ctx context.Context, log lag.Log, db *store.Store, newest int, today func(time.Time) time.Time) (OverviewAnswer, error) {
	var database status.Database
	out, err := viewEvents(ctx, db, func(ctx context.Context, tx pgx.Tx, now Moment) (out OverviewAnswer, err error) {
		if out.Totals, err = totals(ctx, tx, now, window); err != nil {
			return out, err
		}
		if database, err = status.ReadDatabase(ctx, tx, db.Schema()); err != nil {
			return out, err
		}
		list, err := readEvents(ctx, tx, now, Filter{}, newest)
		if err != nil {
			return out, err
		}
		out.Newest = list.Items
		if out.Pauses, err = invitations.Pauses(ctx, tx, now.At); err != nil {
			return out, err
		}
		if out.Compared, err = reconcile.AllKept(ctx, tx); err != nil {
			return out, err
		}
		return out, out.readMoney(ctx, tx, now, today(now.At))
	})
	if err != nil {
		return OverviewAnswer{}, err
	}
	out.Status = status.WithLog(ctx, log, database, nil)
	return out, nil
}

func (a *OverviewAnswer) readMoney(ctx context.Context, tx pgx.Tx, now Moment, today time.Time) (err error) {
	if a.Today, err = readToday(ctx, tx, today, window); err != nil {
		return err
	}
	if a.Ungranted, err = readUngranted(ctx, tx, namedWindow, maxUngranted, maxPurchases); err != nil {
		return err
	}
	if a.Disputes, err = readDisputes(ctx, tx, now.At, window); err != nil {
		return err
	}
	if a.Unclaimed, err = readAmounts(ctx, tx, "the payments without a customer", waitingMoneySQL); err != nil {
		return err
	}
	a.Silence, err = readSilence(ctx, tx)
	return err
}
