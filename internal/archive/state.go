package archive

import (
	"cmp"
	"fmt"
	"sync"
	"time"
)

// State is what an archiver knows since it last read the log's head.
type State struct {
	Archive     string    `json:"archive"`
	LookedAt    time.Time `json:"looked_at,omitzero"` // when the lag was measured; zero: not yet
	LagMessages uint64    `json:"lag_messages"`
	// LagSeconds is the age of the oldest message that is not archived; 0 if there is none. If that
	// message is not known, because the archive cannot be read or does not answer, it is the time
	// since that began.
	LagSeconds  float64 `json:"lag_seconds"`
	Damaged     int     `json:"damaged"`     // number of segments that are damaged or missing
	Contradicts bool    `json:"contradicts"` // the archive contradicts the log; nothing is written then
	LastError   string  `json:"last_error,omitempty"`
}

// After silentIntervals without an answer, State says that the archive does not answer. That is
// less than behindIntervals, so that the warning of warnBehind has the reason.
const silentIntervals = 3

// noted is what State needs from the archiver's last step.
type noted struct {
	mu      sync.Mutex
	state   State
	next    uint64    // the first sequence that is not archived
	waiting time.Time // when that message was stored; zero if there is none
	failing time.Time // when the first of the failed steps ended; zero if the last step succeeded
	asked   time.Time // when the archive was asked; zero after its answer
}

// noteBegin notes what State returns, before a request to the archive. The answer may never come.
func (a *Archiver) noteBegin() {
	a.noted.mu.Lock()
	defer a.noted.mu.Unlock()
	a.noteLag()
	a.noted.asked = time.Now()
}

// noteEnd notes what State returns, after a step that ended with err.
func (a *Archiver) noteEnd(err error) {
	a.noted.mu.Lock()
	defer a.noted.mu.Unlock()
	a.noteLag()
	s := &a.noted.state
	a.noted.asked, s.Contradicts, s.LastError = time.Time{}, false, ""
	if err == nil {
		a.noted.failing = time.Time{}
	} else {
		if a.noted.failing.IsZero() {
			a.noted.failing = time.Now()
		}
		s.Contradicts, s.LastError = isContradiction(err), err.Error()
	}
}

func (a *Archiver) noteLag() {
	s := &a.noted.state
	if a.archive != nil {
		a.noted.next, s.Damaged = a.archive.next(a.head), len(a.archive.faults)
	}
	if a.noted.next > 0 {
		s.LookedAt, s.LagMessages = time.Now().UTC(), a.head.Last+1-min(a.noted.next, a.head.Last+1)
		a.noted.waiting = a.waiting
	}
}

// State returns what the archiver knows. It is safe for concurrent use, also while Run works.
func (a *Archiver) State() State {
	a.noted.mu.Lock()
	defer a.noted.mu.Unlock()
	s := a.noted.state
	s.Archive = a.Place.String()
	since := a.noted.failing
	if !a.noted.waiting.IsZero() {
		since = a.noted.waiting
	}
	if unknown := a.noted.next == 0; (unknown || s.LagMessages > 0) && !since.IsZero() {
		s.LagSeconds = max(0, time.Since(since).Seconds())
	}
	if asked := a.noted.asked; !asked.IsZero() && time.Since(asked) > silentIntervals*a.Interval {
		s.LagSeconds = max(s.LagSeconds, time.Since(asked).Seconds()) // messages may have come since
		s.LastError = cmp.Or(s.LastError, fmt.Sprintf("the archive does not answer, or is slow: it was asked at %s", asked.UTC().Format(time.RFC3339)))
	}
	return s
}
