package store

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Statuses of an invitation.
const (
	InvitationPending      = "pending"      // GitHub has not been asked yet, or is to be asked again
	InvitationInvited      = "invited"      // GitHub has sent it, and it waits for the user
	InvitationCollaborator = "collaborator" // the user has access
	InvitationFailed       = "failed"       // GitHub refused it
	InvitationExpired      = "expired"      // two of them ran out
	InvitationDeclined     = "declined"     // it is gone, and the user has no access
	InvitationWithdrawn    = "withdrawn"    // the purchase was refunded; final
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

// ScanPurchases records what the purchases of some users (nil: of all) ask for: an
// invitation for each kept one that has none, a GitHub user that has become known,
// payments that have another name now, and refunds. Scanning again changes nothing.
// What was recorded while no repository was configured gives way to the first one
// that is.
func (s *Store) ScanPurchases(ctx context.Context, repository string, users []string, now time.Time) error {
	err := s.asInviter(ctx, repository, func(tx pgx.Tx) error {
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
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == "42703" { // undefined column
		return ErrOlderTables
	}
	return err
}

// inviterLock is the first key of the advisory locks on repositories.
const inviterLock = 0x7061_7967

// asInviter runs one short transaction; all that concern a repository come one
// after the other, whichever process they are of.
func (s *Store) asInviter(ctx context.Context, repository string, work func(tx pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "select pg_advisory_xact_lock($1, hashtext($2))", inviterLock, repository); err != nil {
			return fmt.Errorf("wait for other inviters: %w", err)
		}
		return work(tx)
	})
}

// Invitations lists all of them, the oldest purchase first.
func (s *Store) Invitations(ctx context.Context) ([]Invitation, error) {
	return invitations(ctx, s.pool, "true")
}

func invitations(ctx context.Context, q querier, where string, args ...any) ([]Invitation, error) {
	rows, err := q.Query(ctx, `select user_id, repository, provider_payment_id, github_username, status, reason, invitation_id,
		invited_at, activated_at, revoked, repeats, faults, due_at, changed_at
		from payfold.invitation where `+where+` order by activated_at, user_id, repository, provider_payment_id`, args...)
	if err != nil {
		return nil, fmt.Errorf("list the invitations: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByName[Invitation])
	if err != nil {
		return nil, fmt.Errorf("list the invitations: %w", err)
	}
	return list, nil
}
