package verify

import (
	"errors"
	"fmt"
	"sync"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/providers"
)

// Fault is a message that differs from what ingest stored.
type Fault struct {
	Seq   uint64 `json:"seq"`
	Fault string `json:"fault"`
}

// audit inspects every message of a log. It is safe for concurrent use.
type audit struct {
	secrets    providers.Secrets
	partitions int
	strict     bool        // a message that no secret verifies is a fault
	found      func(Fault) // never called concurrently

	mu      sync.Mutex
	verdict *Verdict // counts the messages
}

func (a *audit) inspect(m events.Message, event events.Event) {
	fault, verifiable := a.faultOf(m, event)
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case fault != "":
	case m.Lost():
		a.verdict.Lost++
	case verifiable:
		a.verdict.Signed++
		if m.Provider == events.OwnEvents {
			a.verdict.Own++
		}
	case pulled(m):
		a.verdict.Pulled++
		if a.strict {
			fault = "it was pulled from an API, and has no signature"
		}
	default:
		a.verdict.Unverifiable++
		if a.strict {
			fault = fmt.Sprintf("no secret that was given verifies it; it names the key %q", m.KeyFingerprint)
		}
	}
	if fault != "" {
		a.verdict.Faults++
		a.found(Fault{m.Seq, fault})
	}
}

// pulled reports whether nobody can have signed the message: the provider's API gave the event.
func pulled(m events.Message) bool { return m.Source == events.SourcePulled && m.Signature == "" }

// faultOf returns what is wrong with a message and its event. verifiable is false if no secret has
// the fingerprint that the message names, and for a pulled message.
func (a *audit) faultOf(m events.Message, event events.Event) (fault string, verifiable bool) {
	switch {
	case event.Unreadable:
		return fmt.Sprint("its body is not an event: ", providers.WhyUnreadable(m)), true
	case event.ID != m.ID:
		return fmt.Sprintf("its message id is %q, its body has %q", m.ID, event.ID), true
	case event.Partition(a.partitions) != m.Partition:
		return fmt.Sprintf("it is in partition %d and belongs to %d", m.Partition, event.Partition(a.partitions)), true
	case m.Lost():
		return "", true
	case pulled(m):
		return "", false
	case m.Signature == "":
		return "it has no signature", true
	}
	switch err := a.secrets.Check(m); {
	case err == nil:
		return "", true
	case errors.Is(err, providers.ErrOtherKey):
		return fmt.Sprintf("its signature holds, but under another key than the %q it names", m.KeyFingerprint), true
	case errors.Is(err, providers.ErrDoesNotMatch):
		return "its signature does not hold", true
	}
	return "", false
}
