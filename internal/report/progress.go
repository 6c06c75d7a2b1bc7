package report

import (
	"fmt"
	"io"
	"time"

	"github.com/payfold/payfold/internal/report/page"
)

const lineInterval = 5 * time.Second // between two lines

// Progress returns a function that is told the position of some work, and the sequence at which it ends. The function
// writes a line now and then: as JSON to out, or as text to errors. If the end changes, it begins anew. It is not for
// concurrent use.
func Progress(out, errors io.Writer, what string, asJSON bool) func(position, until uint64) {
	var goal, first uint64
	var began, last time.Time
	return func(position, until uint64) {
		now := time.Now()
		if began.IsZero() || goal != until {
			goal, first, began, last = until, position, now, now
		}
		if now.Sub(last) < lineInterval {
			return
		}
		last = now
		rate := float64(position-first) / now.Sub(began).Seconds()
		left := float64(goal-min(position, goal)) / max(rate, 1)
		if !asJSON {
			fmt.Fprintf(errors, "%s: seq %d of %d, %.0f events/s, %.0f s left\n", what, position, goal, rate, left)
			return
		}
		_ = page.JSON(out, struct {
			Position        uint64 `json:"position"`
			Until           uint64 `json:"until"`
			EventsPerSecond int64  `json:"events_per_second"`
			SecondsLeft     int64  `json:"seconds_left"`
		}{position, goal, int64(rate), int64(left)})
	}
}
