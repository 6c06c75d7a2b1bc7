package invitations

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/store"
)

//go:embed retry_invitations.sql
var retryInvitations string

// lockRepositories waits for transactions that reserve or end attempts. All callers lock in one order.
const lockRepositories = `select pg_advisory_xact_lock($2, hashed)
	from (select distinct hashtext(repository) as hashed from payfold.invitation where user_id = $1 order by 1) r`

// Retry makes those invitations of a user pending again that payfold would not repeat by
// itself (see retry_invitations.sql). It returns their repositories. The error is
// store.ErrNotPrepared if no projector has made the tables yet.
func Retry(ctx context.Context, tables *store.Store, user string, now time.Time) ([]string, error) {
	var repositories []string
	err := pgx.BeginFunc(ctx, tables.Pool(), func(tx pgx.Tx) (err error) {
		if _, err := tx.Exec(ctx, lockRepositories, user, store.InvitationLock); err != nil {
			return err
		}
		rows, _ := tx.Query(ctx, retryInvitations, user, now) // CollectRows returns its error
		repositories, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	if err != nil {
		return nil, orNotPrepared(fmt.Errorf("retry the invitations of %s: %w", user, err))
	}
	return repositories, nil
}
