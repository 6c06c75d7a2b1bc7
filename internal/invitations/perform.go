package invitations

import (
	"context"
	"strconv"
	"time"

	"github.com/payfold/payfold/internal/store"
)

// watchEvery is how often an invitation is looked at that waits for its user:
// soon enough to know within a day of each end it can take.
const watchEvery = 24 * time.Hour

// invite asks GitHub to invite, unless the user has access or an invitation.
func (r *Reconciler) invite(ctx context.Context, attempt *store.Attempt, known standing) result {
	switch {
	case known.collaborator:
		return r.settled(attempt, store.InvitationCollaborator, "has access")
	case known.pending != nil && !known.pending.expired:
		return r.invited(attempt, known.pending, store.OutcomeNotSent, "found pending")
	case known.pending != nil: // GitHub takes no second one beside an expired one
		if err := r.gitHub.Cancel(ctx, known.pending.id); err != nil {
			return r.troubled(attempt, whole(err), store.OutcomeNotSent)
		}
	}
	made, err := r.gitHub.Invite(ctx, *attempt.GitHubUser)
	if err != nil {
		trouble := asProblem(err)
		switch trouble.kind {
		case refused:
			return r.settled(attempt, store.InvitationFailed, trouble.words)
		case unclear:
			return r.troubled(attempt, trouble, store.OutcomeUnknown)
		}
		return r.troubled(attempt, trouble, store.OutcomeNotSent)
	}
	if made == nil {
		return r.settled(attempt, store.InvitationCollaborator, "had access already")
	}
	return r.invited(attempt, made, store.OutcomeSent, "201 "+strconv.FormatInt(made.id, 10))
}

// watch looks how an invitation stands that waits for its user.
func (r *Reconciler) watch(attempt *store.Attempt, known standing) result {
	switch {
	case known.collaborator:
		return r.settled(attempt, store.InvitationCollaborator, "has access")
	case known.pending != nil && !known.pending.expired:
		return r.invited(attempt, known.pending, store.OutcomeNotSent, "still pending")
	case known.pending == nil && r.Now().Before(attempt.InvitedAt.Add(expiresAfter)):
		return r.settled(attempt, store.InvitationDeclined, "neither pending nor accepted any more: declined, or cancelled at GitHub")
	case attempt.Repeats == 0: // one that is gone after its time has run out as well
		again := r.settled(attempt, store.InvitationPending, "the first one expired")
		again.answer.Next.Repeats = 1
		return again
	}
	return r.settled(attempt, store.InvitationExpired, "two invitations expired")
}

// withdraw takes back what a refunded purchase gave.
func (r *Reconciler) withdraw(ctx context.Context, attempt *store.Attempt, known standing) result {
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
		return r.troubled(attempt, asProblem(err), store.OutcomeNotSent)
	}
	return r.settled(attempt, store.InvitationWithdrawn, reason)
}

// invited: the invitation waits for its user.
func (r *Reconciler) invited(attempt *store.Attempt, one *invitation, outcome, words string) result {
	done := r.settled(attempt, store.InvitationInvited, words)
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
func (r *Reconciler) settled(attempt *store.Attempt, status, reason string) result {
	next := attempt.Invitation
	next.Status, next.Reason, next.Faults, next.DueAt = status, &reason, 0, r.Now()
	return result{answer: store.Answer{Outcome: store.OutcomeNotSent, Words: reason, Next: next}}
}
