package invitations

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Attempt is the right to ask GitHub about one GitHub user, for one purpose.
// Nobody else has it until the answer is recorded or the attempt is too old.
type Attempt struct {
	Invitation
	ID           int64      `db:"attempt_id"`
	Purpose      string     `db:"purpose"`
	UnknownSince *time.Time `db:"unknown_since"` // of an earlier attempt: GitHub may have invited the user then
	Ours         bool       `db:"ours"`          // the GitHub user has been invited by us before
	Shared       bool       `db:"shared"`        // another purchase that is not refunded names the same GitHub user
}

// Purposes of an attempt.
const (
	AttemptInvite   = "invite"
	AttemptWithdraw = "withdraw"
)

// Outcomes of an attempt. Sent and unknown ones count for the quota.
const (
	OutcomeSent    = "sent"     // GitHub has made an invitation
	OutcomeNotSent = "not_sent" // it has not
	OutcomeUnknown = "unknown"  // it may have
)

//go:embed end_attempts.sql
var endAttempts string

//go:embed reserve_attempt.sql
var reserveAttempt string

// reserve takes what GitHub is to be asked next; nil where there is
// nothing, where the quota is used up, or while a pause lasts. Attempts without
// an answer that are older than lasts count as over, with an unknown outcome.
func (r records) reserve(ctx context.Context, repository string, now time.Time, perDay int, lasts time.Duration) (reserved *Attempt, err error) {
	err = r.alone(ctx, repository, func(tx pgx.Tx) error {
		var paused bool
		err := tx.QueryRow(ctx, "select exists (select from payfold.invitation_pause where repository = $1 and paused_until > $2)", repository, now).Scan(&paused)
		if err != nil || paused {
			return err
		}
		if _, err := tx.Exec(ctx, endAttempts, repository, now, lasts); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, reserveAttempt, repository, now, perDay)
		if err != nil {
			return err
		}
		reserved, err = pgx.CollectExactlyOneRow(rows, pgx.RowToAddrOfStructByName[Attempt])
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	if err != nil {
		return nil, orOlderTables(fmt.Errorf("reserve an attempt: %w", err))
	}
	return reserved, nil
}

// Answer is what an attempt has led to.
type Answer struct {
	Outcome string
	Words   string // for the record
	// Absent: GitHub said that there was neither an invitation nor access, so
	// earlier attempts of unknown outcome sent nothing.
	Absent bool
	Next   Invitation // the state from now on
}

// ErrAttemptOver: the attempt took too long and is over for the others; nothing
// was recorded, and somebody else asks GitHub what happened.
var ErrAttemptOver = errors.New("the attempt was over before its answer")

// record ends an attempt and writes the invitation's next state.
func (r records) record(ctx context.Context, attempt *Attempt, answer Answer, now time.Time) error {
	return r.alone(ctx, attempt.Repository, func(tx pgx.Tx) error {
		ended, err := tx.Exec(ctx, `update payfold.invitation_attempt set outcome = $2, answer = $3, answered_at = $4
			where attempt_id = $1 and outcome is null`, attempt.ID, answer.Outcome, answer.Words, now)
		if err != nil {
			return fmt.Errorf("end the attempt: %w", err)
		}
		if ended.RowsAffected() == 0 {
			return ErrAttemptOver
		}
		if answer.Absent {
			_, err := tx.Exec(ctx, `update payfold.invitation_attempt set outcome = 'not_sent'
				where repository = $1 and lower(github_username) = lower($2) and outcome = 'unknown' and attempt_id < $3`,
				attempt.Repository, attempt.GitHubUser, attempt.ID)
			if err != nil {
				return fmt.Errorf("settle earlier attempts: %w", err)
			}
		}
		next := answer.Next
		_, err = tx.Exec(ctx, `update payfold.invitation set status = $4, reason = $5, invitation_id = $6, invited_at = $7,
			repeats = $8, faults = $9, changed_at = $11::timestamptz,
			due_at = case when revoked = $12 then $10::timestamptz else $11::timestamptz end -- another thing to do has come up meanwhile
			where user_id = $1 and repository = $2 and provider_payment_id = $3`,
			next.UserID, next.Repository, next.PaymentID, next.Status, next.Reason, next.InvitationID, next.InvitedAt,
			next.Repeats, next.Faults, next.DueAt, now, next.Revoked)
		if err != nil {
			return fmt.Errorf("record the answer: %w", err)
		}
		return nil
	})
}
