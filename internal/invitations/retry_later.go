package invitations

import "time"

// How long to wait after consecutive failures.
var (
	afterFault  = delays{time.Second, 5 * time.Minute}
	afterLimit  = delays{time.Minute, time.Hour} // if GitHub names no time; its documentation asks for a minute
	afterDenial = delays{time.Minute, time.Hour} // a person has to repair the cause
	// afterForbidden is the pause if GitHub refuses to invite. It becomes long enough to raise the alert about a pause.
	afterForbidden = delays{time.Minute, 20 * time.Minute}
)

// retryLater is the result of an attempt that has to be repeated. It pauses all
// invitations. A rate limit or a denial does not count as a fault of this invitation.
func (r *Reconciler) retryLater(attempt *Attempt, failure *problem, outcome string) result {
	now, next := r.Now(), attempt.Invitation
	next.DueAt = now
	pause := &Pause{Repository: r.Repository, Reason: ReplaceName(failure.message, *attempt.GitHubUser, func(string) string { return "(user)" })}
	r.consecutiveFailures++
	switch failure.kind {
	case limited:
		pause.Cause = PauseLimit
		pause.Until = failure.until
		if !pause.Until.After(now) {
			pause.Until = now.Add(r.wait(afterLimit, r.consecutiveFailures))
		}
	case denied:
		pause.Cause = PauseDenied
		pause.Until = now.Add(r.wait(afterDenial, r.consecutiveFailures))
	default:
		next.ConsecutiveFailures++ // invitations with fewer failures go first
		next.DueAt = now.Add(r.wait(afterFault, next.ConsecutiveFailures))
		next.Reason = &failure.message
		pause.Cause = PauseFault
		pause.Until = now.Add(r.wait(afterFault, r.consecutiveFailures))
		if failure.until.After(pause.Until) {
			pause.Until = failure.until
		}
	}
	return result{answer: Answer{Outcome: outcome, Message: failure.message, Next: next}, pause: pause}
}

// refused is the result if GitHub does not make a change after it has answered the look. A denial may concern only this
// user, so it counts as a failure of this invitation, which waits longer each time. Or the credentials may lack the right
// to change anything, so there is a pause, which grows only while nothing else succeeds. After the pause the other
// invitations go first.
func (r *Reconciler) refused(attempt *Attempt, failure *problem) result {
	outcome := OutcomeNotSent
	if failure.kind == unclear && attempt.Purpose == AttemptWithdraw { // GitHub may still take the access away
		outcome = OutcomeUnknown
	}
	done := r.retryLater(attempt, failure, outcome)
	if failure.kind != denied {
		return done
	}
	next := &done.answer.Next
	next.ConsecutiveFailures++
	next.DueAt = r.Now().Add(r.wait(afterDenial, next.ConsecutiveFailures))
	next.Reason = &failure.message
	done.pause.Until = r.Now().Add(r.wait(afterForbidden, r.consecutiveFailures))
	return done
}

type delays struct{ min, max time.Duration }

// wait doubles with each consecutive failure. It adds up to half of that at random, so
// that processes do not retry at the same time.
func (r *Reconciler) wait(d delays, failures int) time.Duration {
	wait := d.max
	if failures < 30 {
		wait = min(d.min<<(failures-1), d.max)
	}
	return wait + time.Duration(r.jitter()*float64(wait)/2)
}
