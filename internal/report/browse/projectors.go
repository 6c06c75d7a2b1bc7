package browse

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/lag"
	"github.com/payfold/payfold/internal/report/status"
	"github.com/payfold/payfold/internal/store"
)

// ProjectorsAnswer shows the state of the work on the live tables. It counts no events:
// Database.EventCounts is nil.
type ProjectorsAnswer struct {
	Moment
	status.Status
}

// Projectors reads the state of the work on the store's tables, and that of the log.
func Projectors(ctx context.Context, log lag.Log, db *store.Store) (ProjectorsAnswer, error) {
	var database status.Database
	now, err := view(ctx, db, func(ctx context.Context, tx pgx.Tx, now Moment) (_ Moment, err error) {
		database, err = status.ReadDatabase(ctx, tx, db.Schema())
		return now, err
	})
	if err != nil {
		return ProjectorsAnswer{}, err
	}
	return ProjectorsAnswer{now, status.WithLog(ctx, log, database, nil)}, nil
}
