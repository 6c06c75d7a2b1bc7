package invitations

import (
	"context"
	"strconv"
	"time"
)

// watchEvery is how often an invitation is looked at that waits for its user:
// soon enough to know within a day of each end it can take.
const watchEvery = 24 * time.Hour

// invite asks GitHub to invite, unless the user has access or an invitation.
func (r *Reconciler) invite(ctx context.Context, attempt *Attempt, known standing) result {
	switch {
	case known.collaborator:
		return r.settled(attempt, Collaborator, "has access")
	case known.pending != nil && !known.pending.expired:
		return r.invited(attempt, known.pending, OutcomeNotSent, "found pending")
	case known.pending != nil: // GitHub takes no second one beside an expired one
		if err := r.gitHub.Cancel(ctx, known.pending.id); err != nil {
			return r.troubled(attempt, whole(err), OutcomeNotSent)
		}
	}
	made, err := r.gitHub.Invite(ctx, *attempt.GitHubUser)
	if err != nil {
		trouble := asProblem(err)
		switch trouble.kind {
		case refused:
			return r.settled(attempt, Failed, trouble.words)
		case unclear:
			return r.troubled(attempt, trouble, OutcomeUnknown)
		}
		return r.troubled(attempt, trouble, OutcomeNotSent)
	}
	if made == nil {
		return r.settled(attempt, Collaborator, "had access already")
	}
	return r.invited(attempt, made, OutcomeSent, "201 "+strconv.FormatInt(made.id, 10))
}

// watch looks how an invitation stands that waits for its user.
func (r *Reconciler) watch(attempt *Attempt, known standing) result {
	switch {
	case known.collaborator:
		return r.settled(attempt, Collaborator, "has access")
	case known.pending != nil && !known.pending.expired:
		return r.invited(attempt, known.pending, OutcomeNotSent, "still pending")
	case known.pending == nil && r.Now().Before(attempt.InvitedAt.Add(expiresAfter)):
		return r.settled(attempt, Declined, "neither pending nor accepted any more: declined, or cancelled at GitHub")
	case attempt.Repeats == 0: // one that is gone after its time has run out as well
		again := r.settled(attempt, Pending, "the first one expired")
		again.answer.Next.Repeats = 1
		return again
	}
	return r.settled(attempt, Expired, "two invitations expired")
}

// withdraw takes back what a refunded purchase gave.
func (r *Reconciler) withdraw(ctx context.Context, attempt *Attempt, known standing) result {
	user, reason, err := *attempt.GitHubUser, "", error(nil)
	switch {
	case attempt.Shared && (known.collaborator || known.pending != nil):
		reason = "another purchase for the same GitHub user is kept"
	case known.pending != nil:
		reason, err = "the invitation was withdrawn", r.gitHub.Cancel(ctx, known.pending.id)
	case !known.collaborator:
		reason = "nothing to take back"
	case !attempt.Ours && attempt.UnknownSince == nil: // after an unknown outcome it is taken to be ours
		reason = "had access without an invitation of ours, and keeps it"
	case !r.RemoveOnRevoke:
		reason = "has accepted, and keeps the access: INVITE_REMOVE_ON_REVOKE is not set"
	default:
		reason, err = "the access was taken back", r.gitHub.Remove(ctx, user)
	}
	if err != nil {
		return r.troubled(attempt, asProblem(err), OutcomeNotSent)
	}
	return r.settled(attempt, Withdrawn, reason)
}

// invited: the invitation waits for its user.
func (r *Reconciler) invited(attempt *Attempt, one *invitation, outcome, words string) result {
	done := r.settled(attempt, Invited, words)
	done.answer.Outcome = outcome
	next := &done.answer.Next
	next.Reason = nil
	next.InvitationID = &one.id
	next.InvitedAt = &one.createdAt
	if one.createdAt.IsZero() {
		now := r.Now()
		next.InvitedAt = &now
	}
	next.DueAt = r.Now().Add(watchEvery)
	return done
}

// settled is an answer after which nothing has to be repeated.
func (r *Reconciler) settled(attempt *Attempt, status, reason string) result {
	next := attempt.Invitation
	next.Status, next.Reason, next.Faults, next.DueAt = status, &reason, 0, r.Now()
	return result{answer: Answer{Outcome: OutcomeNotSent, Words: reason, Next: next}}
}
