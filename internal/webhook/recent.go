package webhook

import (
	"maps"
	"sync"
	"time"

	"github.com/payfold/payfold/internal/minutes"
)

// Minute counts the answers of one minute by name. The names are the values of the label answer of
// payfold_webhook_deliveries_total.
type Minute struct {
	Begin   time.Time         `json:"minute"`
	Answers map[string]uint64 `json:"answers"`
}

// recent counts the answers of the last hour. Safe for concurrent use.
type recent struct {
	mu      sync.Mutex
	answers minutes.Ring[map[string]uint64]
}

func (r *recent) count(answer string, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	answers := r.answers.At(at)
	if *answers == nil {
		*answers = map[string]uint64{}
	}
	(*answers)[answer]++
}

func (r *recent) last(now time.Time) []Minute {
	out := []Minute{}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, minute := range r.answers.Last(now) {
		out = append(out, Minute{minute.Begin, maps.Clone(minute.Value)})
	}
	return out
}

// Recent returns the answers of the last hour by minute, oldest first; the present minute is the last one. Minutes
// without an answer are left out.
func (h *Handler) Recent(now time.Time) []Minute { return h.recent.last(now) }
