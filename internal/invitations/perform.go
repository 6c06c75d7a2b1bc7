package invitations

import (
	"context"
	"slices"
	"strconv"
	"time"
)

// watchInterval is how often payfold looks at an invitation that the user has not
// answered. So payfold knows within a day that it was accepted, declined or expired.
const watchInterval = 24 * time.Hour

// invite asks GitHub to invite the user. If the user has access or an invitation, it only
// records that.
func (r *Reconciler) invite(ctx context.Context, attempt *Attempt, known access) result {
	switch {
	case known.collaborator:
		return r.concluded(attempt, Collaborator, "has access")
	case known.pending != nil && !known.pending.expired:
		return r.invited(attempt, known.pending, OutcomeNotSent, "found pending")
	case known.pending != nil: // GitHub refuses a second invitation until the expired one is deleted
		if err := r.gitHub.Cancel(ctx, known.pending.id); err != nil {
			return r.refused(attempt, asProblem(err))
		}
	}
	if err := r.records.asking(ctx, attempt); err != nil {
		return result{err: err}
	}
	made, err := r.gitHub.Invite(ctx, *attempt.GitHubUser)
	if err != nil {
		failure := asProblem(err)
		switch failure.kind {
		case permanent:
			return r.concluded(attempt, Failed, failure.message)
		case unclear:
			return r.retryLater(attempt, failure, OutcomeUnknown)
		}
		return r.refused(attempt, failure)
	}
	if made == nil {
		return r.concluded(attempt, Collaborator, "had access already")
	}
	return r.invited(attempt, made, OutcomeSent, "201 "+strconv.FormatInt(made.id, 10))
}

// watch follows an invitation that the user had not answered yet.
func (r *Reconciler) watch(ctx context.Context, attempt *Attempt, known access) result {
	switch {
	case known.collaborator:
		return r.concluded(attempt, Collaborator, "has access")
	case known.pending != nil && !known.pending.expired:
		return r.invited(attempt, known.pending, OutcomeNotSent, "still pending")
	case attempt.NotOurs:
		return r.concluded(attempt, Pending, "the invitation that somebody else made has ended")
	case known.pending == nil && r.Now().Before(attempt.InvitedAt.Add(expiresAfter)):
		return r.concluded(attempt, Declined, "neither pending nor accepted any more: declined, or cancelled at GitHub")
	case attempt.Repeats == 0: // expired: GitHub lists it as expired, or it is gone after expiresAfter
		again := r.concluded(attempt, Pending, "the first one expired")
		again.answer.Next.Repeats = 1
		return again
	case known.pending != nil: // each look reads the whole list; if this fails, the list is only longer
		_ = r.gitHub.Cancel(ctx, known.pending.id)
	}
	return r.concluded(attempt, Expired, "two invitations expired")
}

// clockSkew is how far the clocks of the provider and of GitHub may be apart.
const clockSkew = 5 * time.Minute

const somebodyElseInvited = "somebody else invited before the purchase"

// isSomebodyElses reports whether a pending invitation is older than any that payfold may have sent to the
// user without a record, and no record says that payfold sent it.
func (a *Attempt) isSomebodyElses(pending *invitation) bool {
	return pending != nil && !a.InvitedByUs && !slices.Contains(a.Sent, pending.id) && !pending.createdAt.IsZero() && pending.createdAt.Add(clockSkew).Before(a.MaySince)
}

// withdraw cancels the invitation of a refunded purchase, or removes the access.
func (r *Reconciler) withdraw(ctx context.Context, attempt *Attempt, known access) result {
	switch {
	case attempt.Shared && (known.collaborator || known.pending != nil):
		return r.concluded(attempt, Withdrawn, "another purchase for the same GitHub user is kept")
	case attempt.isSomebodyElses(known.pending):
		return r.concluded(attempt, Withdrawn, somebodyElseInvited)
	case known.pending != nil:
		return r.cancel(ctx, attempt, known.pending)
	case !known.collaborator:
		return r.concluded(attempt, Withdrawn, "nothing to take back")
	case !attempt.InvitedByUs && !attempt.Unknown: // an attempt of unknown outcome may have invited the user
		return r.concluded(attempt, Withdrawn, "had access without an invitation of ours, and keeps it")
	}
	return r.remove(ctx, attempt, *attempt.GitHubUser)
}

// cancel cancels an invitation of payfold's. The user may have accepted it since the look, so cancel looks again.
func (r *Reconciler) cancel(ctx context.Context, attempt *Attempt, pending *invitation) result {
	if err := r.records.asking(ctx, attempt); err != nil {
		return result{err: err}
	}
	if err := r.gitHub.Cancel(ctx, pending.id); err != nil {
		return r.refused(attempt, asProblem(err))
	}
	known, err := r.gitHub.Look(ctx, pending.user, attempt.InvitationID)
	if err != nil {
		return r.retryLater(attempt, asDenied(err), OutcomeNotSent)
	}
	if known.collaborator {
		return r.remove(ctx, attempt, pending.user)
	}
	return r.tookBack(attempt, "the invitation was withdrawn")
}

// remove removes access that payfold gave, if that is configured.
func (r *Reconciler) remove(ctx context.Context, attempt *Attempt, user string) result {
	if !r.RemoveOnRevoke {
		return r.concluded(attempt, Withdrawn, "has accepted, and keeps the access: INVITE_REMOVE_ON_REVOKE is not set")
	}
	if err := r.records.asking(ctx, attempt); err != nil {
		return result{err: err}
	}
	if err := r.gitHub.Remove(ctx, user); err != nil {
		return r.refused(attempt, asProblem(err))
	}
	return r.tookBack(attempt, "the access was taken back")
}

func (r *Reconciler) tookBack(attempt *Attempt, reason string) result {
	done := r.concluded(attempt, Withdrawn, reason)
	done.answer.Ended = OutcomeSent
	return done
}

// invited is the result if an invitation waits for its user.
func (r *Reconciler) invited(attempt *Attempt, one *invitation, outcome, message string) result {
	done := r.concluded(attempt, Invited, message)
	done.answer.Outcome = outcome
	notOurs := outcome != OutcomeSent && attempt.isSomebodyElses(one)
	done.answer.NotOurs = &notOurs
	next := &done.answer.Next
	next.Reason = nil
	if notOurs {
		reason := somebodyElseInvited
		next.Reason = &reason
	}
	next.InvitationID = &one.id
	next.InvitedAt = &one.createdAt
	if one.createdAt.IsZero() {
		now := r.Now()
		next.InvitedAt = &now
	}
	next.DueAt = r.Now().Add(watchInterval)
	return done
}

// concluded is the result of an attempt that need not be repeated.
func (r *Reconciler) concluded(attempt *Attempt, status, reason string) result {
	next := attempt.Invitation
	next.Status, next.Reason, next.ConsecutiveFailures, next.DueAt = status, &reason, 0, r.Now()
	return result{answer: Answer{Outcome: OutcomeNotSent, Message: reason, Next: next}}
}
