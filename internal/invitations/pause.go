package invitations

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/store"
)

// Causes of a pause.
const (
	PauseLimit  = "limit"  // GitHub's rate limit
	PauseDenied = "denied" // GitHub refuses the credentials or one change, or they cannot see the repository
	PauseFault  = "fault"  // GitHub does not answer, or answers with an error of its own
)

// Pause is a time without requests about a repository.
type Pause struct {
	Repository string    `json:"repository" db:"repository"`
	Until      time.Time `json:"paused_until" db:"paused_until"`
	Cause      string    `json:"cause" db:"cause"`
	Reason     string    `json:"reason" db:"reason"` // without the name of a user, because it concerns all
}

// pause makes every process wait. It never shortens a pause.
func (r records) pause(ctx context.Context, pause Pause) error {
	_, err := r.tables.Pool().Exec(ctx, `insert into payfold.invitation_pause (repository, paused_until, cause, reason) values ($1, $2, $3, $4)
		on conflict (repository) do update set paused_until = excluded.paused_until, cause = excluded.cause, reason = excluded.reason
		where invitation_pause.paused_until < excluded.paused_until`,
		pause.Repository, pause.Until, pause.Cause, pause.Reason)
	if err != nil {
		return fmt.Errorf("record a pause: %w", err)
	}
	return nil
}

// resume ends what waits for other credentials, because a process may have been started with them: a pause for that
// cause, and the waits of invitations after a fault of GitHub.
func (r records) resume(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	batch := &pgx.Batch{}
	batch.Queue("delete from payfold.invitation_pause where repository = $1 and cause = $2", r.repository, PauseDenied)
	batch.Queue(`update payfold.invitation set due_at = $2
		where repository = $1 and status <> 'withdrawn' and consecutive_failures > 0 and due_at > $2`, r.repository, r.now())
	if err := r.tables.Pool().SendBatch(ctx, batch).Close(); err != nil {
		return fmt.Errorf("end what waits for other credentials: %w", err)
	}
	return nil
}

// Pauses lists the pauses in force.
func Pauses(ctx context.Context, from store.Querier, now time.Time) ([]Pause, error) {
	return store.Collect(ctx, from, "list the pauses", pgx.RowToStructByPos[Pause],
		"select repository, paused_until, cause, reason from payfold.invitation_pause where paused_until > $1 order by 1", now)
}
