package verify

import (
	"fmt"
	"sync"

	"github.com/payfold/payfold/internal/events"
)

// Signer is a signing secret of the provider.
type Signer interface {
	Signed(body []byte, signature string) bool
	Fingerprint() string
}

// Fault is a message that is not as ingest stored it.
type Fault struct {
	Seq   uint64 `json:"seq"`
	Fault string `json:"fault"`
}

// audit looks at every message of a log. It is safe for concurrent use.
type audit struct {
	signers    []Signer
	partitions int
	strict     bool        // what no given secret verifies is wrong
	found      func(Fault) // called by one at a time

	mu           sync.Mutex
	faults       int
	unverifiable int
}

func (a *audit) look(m events.Message, event events.Event) {
	fault, verifiable := a.judge(m, event)
	if fault == "" && verifiable {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !verifiable {
		a.unverifiable++
		if a.strict {
			fault = fmt.Sprintf("no secret that was given verifies it; it names the key %q", m.KeyFingerprint)
		}
	}
	if fault != "" {
		a.faults++
		a.found(Fault{m.Seq, fault})
	}
}

// judge returns what is wrong with a message, which holds that event. A signature whose secret is not
// known is neither right nor wrong.
func (a *audit) judge(m events.Message, event events.Event) (fault string, verifiable bool) {
	switch {
	case event.Unreadable:
		_, why := events.Parse(m.Body)
		return fmt.Sprint("its body is not an event: ", why), true
	case event.ID != m.ID:
		return fmt.Sprintf("its message id is %q, its body has %q", m.ID, event.ID), true
	case event.Partition(a.partitions) != m.Partition:
		return fmt.Sprintf("it is in partition %d and belongs to %d", m.Partition, event.Partition(a.partitions)), true
	case m.Signature == "":
		return "it has no signature", true
	}
	known := false
	for _, signer := range a.signers {
		named := signer.Fingerprint() == m.KeyFingerprint
		known = known || named
		if signer.Signed(m.Body, m.Signature) {
			if !named {
				return fmt.Sprintf("its signature holds, but under another key than the %q it names", m.KeyFingerprint), true
			}
			return "", true
		}
	}
	if known {
		return "its signature does not hold", true
	}
	return "", false
}
