package browse

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/invitations"
	"github.com/payfold/payfold/internal/lag"
	"github.com/payfold/payfold/internal/report/status"
	"github.com/payfold/payfold/internal/store"
)

// HealthAnswer is what the tables and the log tell of whether all is well. The state of the log is read just after that
// of the tables. No events are counted: Database.EventCounts is nil.
type HealthAnswer struct {
	Moment
	status.Status
	Silence Silence             `json:"silence"`
	Pauses  []invitations.Pause `json:"-"` // of invitations, in force
}

// Health reads the answer. It takes no longer with more events. The error is store.ErrNotPrepared if there are no tables.
func Health(ctx context.Context, log lag.Log, db *store.Store) (HealthAnswer, error) {
	out, err := view(ctx, db, readHealth)
	if err != nil {
		return HealthAnswer{}, err
	}
	out.Status = status.WithLog(ctx, log, *out.Database, nil)
	return out, nil
}

// readHealth reads all but the state of the log.
func readHealth(ctx context.Context, tx pgx.Tx, now Moment) (HealthAnswer, error) {
	out := HealthAnswer{Moment: now}
	database, err := status.ReadDatabase(ctx, tx, now.Schema)
	if err != nil {
		return out, err
	}
	out.Database = &database
	if out.Silence, err = readSilence(ctx, tx); err != nil {
		return out, err
	}
	out.Pauses, err = invitations.Pauses(ctx, tx, now.At)
	return out, err
}
