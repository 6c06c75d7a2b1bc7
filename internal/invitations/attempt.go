package invitations

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Attempt is a lease: the right to make requests about one GitHub user, for one purpose.
// It is exclusive until the answer is recorded or the attempt expires.
type Attempt struct {
	Invitation
	ID          int64     `db:"attempt_id"`
	Purpose     string    `db:"purpose"`
	NotOurs     bool      `db:"not_ours"`      // somebody else made the recorded invitation, or it has ended
	Unknown     bool      `db:"unknown"`       // an earlier attempt may have invited the user
	MaySince    time.Time `db:"may_since"`     // the earliest time at which payfold may have invited the user without a record
	InvitedByUs bool      `db:"invited_by_us"` // payfold has invited the user, for this purchase or another, and that has not ended
	Sent        []int64   `db:"sent"`          // payfold's invitations that may be open, to any GitHub user
	Shared      bool      `db:"shared"`        // another kept purchase names the same GitHub user, or has the same invitation
}

// Purposes of an attempt.
const (
	AttemptInvite   = "invite"
	AttemptWithdraw = "withdraw"
)

// Outcomes of an attempt. OutcomeSent and OutcomeUnknown count for the quota.
const (
	OutcomeSent    = "sent"     // GitHub has made an invitation
	OutcomeNotSent = "not_sent" // GitHub has made no invitation
	OutcomeUnknown = "unknown"  // GitHub may have made an invitation, or may take one back
)

//go:embed end_attempts.sql
var endAttempts string

//go:embed reserve_attempt.sql
var reserveAttempt string

// reserve starts the next attempt. It returns nil if nothing is due, if the quota is used up,
// and during a pause. It ends attempts without an answer that are older than attemptExpiry. Their
// outcome is unknown if GitHub may have been asked.
func (r records) reserve(ctx context.Context, perDay int) (reserved *Attempt, err error) {
	now := r.now()
	err = r.serialized(ctx, func(ctx context.Context, tx pgx.Tx) error {
		var paused bool
		err := tx.QueryRow(ctx, "select exists (select from payfold.invitation_pause where repository = $1 and paused_until > $2)", r.repository, now).Scan(&paused)
		if err != nil || paused {
			return err
		}
		if _, err := tx.Exec(ctx, endAttempts, r.repository, now, attemptExpiry, maxAhead); err != nil {
			return err
		}
		rows, _ := tx.Query(ctx, reserveAttempt, r.repository, now, perDay, lateAction, maxAhead) // CollectExactlyOneRow returns its error
		reserved, err = pgx.CollectExactlyOneRow(rows, pgx.RowToAddrOfStructByName[Attempt])
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return nil
		case err != nil || reserved.Purpose != AttemptWithdraw || reserved.Shared:
			return err
		}
		// A purchase that is kept after all meanwhile may lose what it has, and the process may die before it records that.
		return lookAgain(ctx, tx, reserved, now, Invited, Collaborator)
	})
	if err != nil {
		return nil, fmt.Errorf("reserve an attempt: %w", err)
	}
	return reserved, nil
}

// asking records that GitHub is about to be asked to change something. An attempt that ends before this call
// has invited nobody. The error is errAttemptExpired if the attempt has ended; then GitHub must not be asked.
func (r records) asking(ctx context.Context, attempt *Attempt) error {
	marked, err := r.tables.Pool().Exec(ctx, "update payfold.invitation_attempt set unasked = false where attempt_id = $1 and outcome is null", attempt.ID)
	if err != nil {
		return fmt.Errorf("record that GitHub is asked: %w", err)
	}
	if marked.RowsAffected() == 0 {
		return errAttemptExpired
	}
	return nil
}

// Answer is what record writes at the end of an attempt.
type Answer struct {
	Outcome string
	Message string
	// Ended is set if nothing is left of what earlier attempts sent to the GitHub user. Those of unknown outcome then
	// get this outcome. If something may be left, it is empty.
	Ended   string
	Next    Invitation // the new state
	NotOurs *bool      // somebody else made the invitation; nil: as before
}

// errAttemptExpired means that the attempt expired before its answer, or before GitHub was asked.
// The next attempt asks GitHub what was done.
var errAttemptExpired = errors.New("the attempt expired")

// record ends an attempt and writes the invitation's next state. If the answer comes too late, it
// only records that GitHub may have invited, and returns errAttemptExpired.
func (r records) record(ctx context.Context, attempt *Attempt, answer Answer) error {
	late, now := false, r.now()
	err := r.serialized(ctx, func(ctx context.Context, tx pgx.Tx) error {
		ended, err := tx.Exec(ctx, `update payfold.invitation_attempt set outcome = $2, answer = $3, answered_at = $4
			where attempt_id = $1 and outcome is null`, attempt.ID, answer.Outcome, answer.Message, now)
		if err != nil {
			return fmt.Errorf("end the attempt: %w", err)
		}
		if late = ended.RowsAffected() == 0; late {
			return recordLate(ctx, tx, attempt, answer, now)
		}
		if err := recordNext(ctx, tx, answer, now); err != nil || answer.Ended == "" {
			return err
		}
		return endEarlier(ctx, tx, attempt, answer)
	})
	if err == nil && late {
		return errAttemptExpired
	}
	return err
}

func recordNext(ctx context.Context, tx pgx.Tx, answer Answer, now time.Time) error {
	next := answer.Next
	_, err := tx.Exec(ctx, `update payfold.invitation
		set status = case when $12 and not revoked then 'pending' else $4 end, -- kept after all: what was withdrawn is given again
			reason = $5, invitation_id = $6, invited_at = $7, repeats = $8, consecutive_failures = $9, not_ours = coalesce($13, not_ours), changed_at = $11::timestamptz,
			due_at = case when revoked = $12 then $10::timestamptz else $11::timestamptz end -- a purchase that changed meanwhile is due at once
		where user_id = $1 and repository = $2 and provider_payment_id = $3`,
		next.UserID, next.Repository, next.PaymentID, next.Status, next.Reason, next.InvitationID, next.InvitedAt,
		next.Repeats, next.ConsecutiveFailures, next.DueAt, now, next.Revoked, answer.NotOurs)
	if err != nil {
		return fmt.Errorf("record the answer: %w", err)
	}
	return nil
}

// recordLate records that GitHub may have acted on the request of an expired attempt after another attempt looked.
// So an attempt that is under way for the GitHub user ends without an answer, and what was concluded about the user is
// looked at again.
func recordLate(ctx context.Context, tx pgx.Tx, attempt *Attempt, answer Answer, now time.Time) error {
	if answer.Outcome == OutcomeNotSent && answer.Ended != OutcomeSent {
		return nil
	}
	_, err := tx.Exec(ctx, `update payfold.invitation_attempt set outcome = 'unknown', answered_at = $4
		where attempt_id = $1 or repository = $2 and lower(github_username) = lower($3) and outcome is null`,
		attempt.ID, attempt.Repository, attempt.GitHubUser, now)
	if err != nil {
		return fmt.Errorf("record a late answer: %w", err)
	}
	return lookAgain(ctx, tx, attempt, now, Invited, Collaborator, Withdrawn)
}

// lookAgain makes the invitations of the attempt's GitHub user pending that have one of these statuses. So the next
// attempts look at what GitHub has, and invite again where a kept purchase has lost its invitation.
func lookAgain(ctx context.Context, tx pgx.Tx, attempt *Attempt, now time.Time, statuses ...string) error {
	_, err := tx.Exec(ctx, `update payfold.invitation set status = 'pending', due_at = $4, changed_at = $4
		where repository = $1 and lower(github_username) = lower($2) and status = any($3)`,
		attempt.Repository, attempt.GitHubUser, statuses, now)
	if err != nil {
		return fmt.Errorf("look again at what a GitHub user has: %w", err)
	}
	return nil
}

// endEarlier records that nothing is left of what earlier attempts sent to the GitHub user. So later access
// of the user does not come from them. It leaves out invitations that still wait for the user: such an
// invitation is the present one, or its own attempt finds that it has ended. A withdrawal has made them pending.
func endEarlier(ctx context.Context, tx pgx.Tx, attempt *Attempt, answer Answer) error {
	_, err := tx.Exec(ctx, `update payfold.invitation_attempt set outcome = $4
		where repository = $1 and lower(github_username) = lower($2) and outcome = 'unknown' and purpose = 'invite' and attempt_id < $3`,
		attempt.Repository, attempt.GitHubUser, attempt.ID, answer.Ended)
	if err != nil {
		return fmt.Errorf("correct the outcome of earlier attempts: %w", err)
	}
	_, err = tx.Exec(ctx, `update payfold.invitation set not_ours = true
		where repository = $1 and lower(github_username) = lower($2) and status <> 'invited' and invited_at is not null and not not_ours
			and (status <> 'pending' or $3 <> 'withdraw')`,
		attempt.Repository, attempt.GitHubUser, attempt.Purpose)
	if err != nil {
		return fmt.Errorf("record that earlier invitations have ended: %w", err)
	}
	return nil
}
