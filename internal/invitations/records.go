package invitations

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/store"
)

// Statuses of an invitation.
const (
	Pending      = "pending"      // GitHub has not been asked yet, or is to be asked again
	Invited      = "invited"      // GitHub has sent it, and it waits for the user
	Collaborator = "collaborator" // the user has access
	Failed       = "failed"       // GitHub refused it
	Expired      = "expired"      // two of them ran out
	Declined     = "declined"     // it is gone, and the user has no access
	Withdrawn    = "withdrawn"    // the purchase was refunded; final
)

// Invitation is the state of one purchase's invitation to one repository. Its
// key is (UserID, Repository, PaymentID).
type Invitation struct {
	UserID       string     `json:"user_id" db:"user_id"`
	Repository   string     `json:"repository" db:"repository"`
	PaymentID    string     `json:"provider_payment_id" db:"provider_payment_id"`
	GitHubUser   *string    `json:"github_username" db:"github_username"`
	Status       string     `json:"status" db:"status"`
	Reason       *string    `json:"reason" db:"reason"`
	InvitationID *int64     `json:"invitation_id" db:"invitation_id"`
	InvitedAt    *time.Time `json:"invited_at" db:"invited_at"`
	ActivatedAt  time.Time  `json:"activated_at" db:"activated_at"`
	Revoked      bool       `json:"revoked" db:"revoked"`
	Repeats      int        `json:"repeats" db:"repeats"`
	Faults       int        `json:"faults" db:"faults"`
	DueAt        time.Time  `json:"due_at" db:"due_at"`
	ChangedAt    time.Time  `json:"changed_at" db:"changed_at"`
}

//go:embed follow_renamed.sql
var followRenamed string

//go:embed record_purchases.sql
var recordPurchases string

//go:embed follow_purchases.sql
var followPurchases string

//go:embed withdraw_unsent.sql
var withdrawUnsent string

// ErrOlderTables: the live tables do not say which GitHub user a purchase names.
var ErrOlderTables = errors.New("invitations wait: the live tables are of older rules, which keep no GitHub user with a purchase; run: projector rebuild --promote")

// records is what the database keeps of invitations: what purchases ask for, what GitHub
// was asked, and what it said. Safe for concurrent use.
type records struct{ tables *store.Store }

// scan records what the purchases of some users (nil: of all) ask for: an
// invitation for each kept one that has none, a GitHub user that has become known,
// payments that have another name now, and refunds. Scanning again changes nothing.
// What was recorded while no repository was configured gives way to the first one
// that is.
func (r records) scan(ctx context.Context, repository string, users []string, now time.Time) error {
	err := r.alone(ctx, repository, func(tx pgx.Tx) error {
		steps := &pgx.Batch{}
		if repository != "" {
			steps.Queue("delete from payfold.invitation where repository = ''")
		}
		for _, step := range []string{followRenamed, recordPurchases, followPurchases, withdrawUnsent} {
			steps.Queue(step, repository, now, users)
		}
		if err := tx.SendBatch(ctx, steps).Close(); err != nil {
			return fmt.Errorf("look for purchases to invite: %w", err)
		}
		return nil
	})
	return orOlderTables(err)
}

// orOlderTables: the columns of the live tables are those of the build that folded them.
func orOlderTables(err error) error {
	if store.UndefinedColumn(err) {
		return ErrOlderTables
	}
	return err
}

// alone runs one short transaction; all that concern a repository come one after the
// other, whichever process they are of.
func (r records) alone(ctx context.Context, repository string, work func(tx pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, r.tables.Pool(), func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "select pg_advisory_xact_lock($1, hashtext($2))", store.InvitationLock, repository); err != nil {
			return fmt.Errorf("wait for others that invite: %w", err)
		}
		return work(tx)
	})
}

// List returns all of them, the oldest purchase first.
func List(ctx context.Context, tables *store.Store) ([]Invitation, error) {
	return list(ctx, tables.Pool(), "true")
}

// OfUser returns a user's, the oldest purchase first.
func OfUser(ctx context.Context, tx pgx.Tx, user string) ([]Invitation, error) {
	return list(ctx, tx, "user_id = $1", user)
}

func list(ctx context.Context, from interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}, where string, args ...any,
) ([]Invitation, error) {
	rows, err := from.Query(ctx, `select user_id, repository, provider_payment_id, github_username, status, reason, invitation_id,
		invited_at, activated_at, revoked, repeats, faults, due_at, changed_at
		from payfold.invitation where `+where+` order by activated_at, user_id, repository, provider_payment_id`, args...)
	if err != nil {
		return nil, fmt.Errorf("list the invitations: %w", err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByName[Invitation])
	if err != nil {
		return nil, fmt.Errorf("list the invitations: %w", err)
	}
	return all, nil
}
