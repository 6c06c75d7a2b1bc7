package browse

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/invitations"
	"github.com/payfold/payfold/internal/lag"
	"github.com/payfold/payfold/internal/report/explain"
	"github.com/payfold/payfold/internal/report/status"
	"github.com/payfold/payfold/internal/store"
)

// OverviewAnswer shows the state of the work, the outcomes of the newest events, and some of these events, all
// at one moment. The state of the log is read just after it.
type OverviewAnswer struct {
	Totals
	status.Status
	Newest []explain.WithWhy   `json:"newest"` // the newest first
	Pauses []invitations.Pause `json:"-"`      // of invitations, in force
}

// Overview reads the answer for a start page, with at most newest events.
func Overview(ctx context.Context, log lag.Log, db *store.Store, newest int) (OverviewAnswer, error) {
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
		out.Pauses, err = invitations.Pauses(ctx, tx, now.At)
		return out, err
	})
	if err != nil {
		return OverviewAnswer{}, err
	}
	out.Status = status.WithLog(ctx, log, database, nil)
	return out, nil
}
