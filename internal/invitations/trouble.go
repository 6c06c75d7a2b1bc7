package invitations

import "time"

// How long to wait after problems in a row; the first is the least.
var (
	afterFault  = backOff{time.Second, 5 * time.Minute}
	afterLimit  = backOff{time.Minute, time.Hour} // where GitHub does not say: at least a minute, its documentation asks
	afterDenial = backOff{time.Minute, time.Hour} // somebody has to repair it first
)

// troubled is an answer after which the same is tried again. What concerns every
// invitation pauses all of them. GitHub's limits are nobody's fault: the
// invitation stays as it was.
func (r *Reconciler) troubled(attempt *Attempt, trouble *problem, outcome string) result {
	now, next := r.Now(), attempt.Invitation
	next.DueAt = now
	pause := &Pause{Repository: r.Repository, Reason: trouble.words}
	r.strikes++
	switch trouble.kind {
	case limited:
		pause.Cause = PauseLimit
		pause.Until = trouble.until
		if !pause.Until.After(now) {
			pause.Until = now.Add(r.wait(afterLimit, r.strikes))
		}
	case denied:
		pause.Cause = PauseDenied
		pause.Until = now.Add(r.wait(afterDenial, r.strikes))
	default:
		// One that fails again and again must not hold up the others.
		next.Faults++
		next.DueAt = now.Add(r.wait(afterFault, next.Faults))
		next.Reason = &trouble.words
		pause.Cause = PauseFault
		pause.Until = now.Add(r.wait(afterFault, r.strikes))
		if trouble.until.After(pause.Until) {
			pause.Until = trouble.until
		}
	}
	return result{Answer{Outcome: outcome, Words: trouble.words, Next: next}, pause}
}

type backOff struct{ least, most time.Duration }

// wait doubles with each problem in a row; up to half of it more by chance, so
// that processes do not come back together.
func (r *Reconciler) wait(b backOff, inRow int) time.Duration {
	wait := b.most
	if inRow < 30 {
		wait = min(b.least<<(inRow-1), b.most)
	}
	return wait + time.Duration(r.jitter()*float64(wait)/2)
}
