package archive

import (
	"sync"
	"time"
)

// State is what an archiver knows after its last look at the log.
type State struct {
	Archive     string    `json:"archive"`
	LookedAt    time.Time `json:"looked_at,omitzero"` // when the lag was found out; zero: not yet
	LagMessages uint64    `json:"lag_messages"`
	// LagSeconds is the age of the oldest message that is not archived; 0 if there is none. Where
	// that message is not known, because the archive cannot be read, it is the time since then.
	LagSeconds  float64 `json:"lag_seconds"`
	Damaged     int     `json:"damaged"`     // number of segments that are damaged or missing
	Contradicts bool    `json:"contradicts"` // the log; nothing is written then
	LastError   string  `json:"last_error,omitempty"`
}

// noted is what State needs of the archiver's last look.
type noted struct {
	mu      sync.Mutex
	state   State
	next    uint64    // the first sequence that is not archived
	waiting time.Time // when that message was stored; zero if there is none
	failing time.Time // since when every look has failed; zero if the last one did not
}

// note keeps what State tells, after a look at the log that ended with err.
func (a *Archiver) note(err error) {
	a.noted.mu.Lock()
	defer a.noted.mu.Unlock()
	s := &a.noted.state
	if a.archive != nil {
		a.noted.next, s.Damaged = a.archive.next(a.head), len(a.archive.faults)
	}
	if a.noted.next > 0 {
		s.LookedAt, s.LagMessages = time.Now().UTC(), a.head.Last+1-min(a.noted.next, a.head.Last+1)
		a.noted.waiting = a.waiting
	}
	s.Contradicts, s.LastError = false, ""
	if err == nil {
		a.noted.failing = time.Time{}
	} else {
		if a.noted.failing.IsZero() {
			a.noted.failing = time.Now()
		}
		s.Contradicts, s.LastError = isContradiction(err), err.Error()
	}
}

// State is safe for concurrent use, also while Run works.
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
	return s
}
