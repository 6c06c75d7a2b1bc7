package browse

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/invitations"
	"github.com/payfold/payfold/internal/lag"
	"github.com/payfold/payfold/internal/report/status"
	"github.com/payfold/payfold/internal/store"
)

// HealthAnswer is what the tables and the log tell of whether all is well.
type HealthAnswer struct {
	status.Status
	Silence Silence
	Pauses  []invitations.Pause // of invitations, in force
}

// Health reads the answer. It takes no longer with more events. The error is store.ErrNotPrepared if there are no tables.
func Health(ctx context.Context, log lag.Log, db *store.Store) (out HealthAnswer, err error) {
	var database status.Database
	err = db.View(ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
		if database, err = status.ReadDatabase(ctx, tx, db.Schema()); err != nil {
			return err
		}
		if out.Silence, err = readSilence(ctx, tx); err != nil {
			return err
		}
		out.Pauses, err = invitations.Pauses(ctx, tx, database.At)
		return err
	})
	if err != nil {
		return HealthAnswer{}, err
	}
	out.Status = status.WithLog(ctx, log, database, nil)
	return out, nil
}

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
