package webhook

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// recentMinutes is how many minutes are kept, for an operator who looks at a problem now. Metrics
// have the history.
const recentMinutes = 15

// Minute counts the answers of one minute by name. The names are the values of the label answer of
// payfold_webhook_deliveries_total.
type Minute struct {
	Begin   time.Time         `json:"minute"`
	Answers map[string]uint64 `json:"answers"`
}

// recent counts the answers of the last minutes. Safe for concurrent use.
type recent struct {
	mu      sync.Mutex
	minutes [recentMinutes]Minute // a ring; a slot may still have an older minute
}

func (r *recent) count(answer string, at time.Time) {
	begin := at.UTC().Truncate(time.Minute)
	r.mu.Lock()
	defer r.mu.Unlock()
	slot := &r.minutes[begin.Unix()/60%recentMinutes]
	if !slot.Begin.Equal(begin) {
		*slot = Minute{begin, map[string]uint64{}}
	}
	slot.Answers[answer]++
}

// since returns the minutes with an answer that are not older than recentMinutes, in order.
func (r *recent) since(now time.Time) []Minute {
	oldest := now.UTC().Truncate(time.Minute).Add(-(recentMinutes - 1) * time.Minute)
	out := []Minute{}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, minute := range r.minutes {
		if !minute.Begin.Before(oldest) {
			out = append(out, Minute{minute.Begin, maps.Clone(minute.Answers)})
		}
	}
	slices.SortFunc(out, func(a, b Minute) int { return a.Begin.Compare(b.Begin) })
	return out
}

// Recent returns the answers of this minute and of the 14 before, oldest first. Minutes without
// an answer are left out.
func (h *Handler) Recent(now time.Time) []Minute { return h.recent.since(now) }
