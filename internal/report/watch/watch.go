// Package watch shows the status of log and tables again and again, and how fast events are applied.
package watch

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/payfold/payfold/internal/report/page"
	"github.com/payfold/payfold/internal/report/status"
)

// Watch writes the status again and again: on a terminal each page in place of the one before,
// elsewhere one page after the other, as JSON one object a line.
type Watch struct {
	Read  func(ctx context.Context) status.Status
	Pause func(ctx context.Context) // between two pages
	Now   func() time.Time
	Out   io.Writer
	JSON  bool
}

// clearScreen also moves the cursor to the top.
const clearScreen = "\x1b[2J\x1b[H"

// Run returns nil when ctx ends, and an error if it cannot write. A page says what could not be
// read.
func (w Watch) Run(ctx context.Context) error {
	inPlace := page.IsTerminal(w.Out)
	var last status.Status // the last one with a database
	for first := true; ; first = false {
		now := w.Read(ctx)
		if ctx.Err() != nil {
			return nil
		}
		now.Pace = paceOf(last, now)
		if err := w.write(now, inPlace, first); err != nil {
			return err
		}
		if now.Database != nil {
			last = now
		}
		w.Pause(ctx)
		if ctx.Err() != nil {
			return nil
		}
	}
}

// write writes one page at once, so that a terminal does not flicker.
func (w Watch) write(now status.Status, inPlace, first bool) error {
	if w.JSON {
		return now.Write(w.Out, true)
	}
	var out bytes.Buffer
	switch {
	case inPlace:
		out.WriteString(clearScreen)
	case !first:
		out.WriteByte('\n')
	}
	fmt.Fprintf(&out, "projector status at %s; Ctrl-C ends it\n\n", w.Now().UTC().Format("2006-01-02 15:04:05Z"))
	if err := now.Write(&out, false); err != nil {
		return err
	}
	_, err := w.Out.Write(out.Bytes())
	return err
}

// paceOf returns nil if the two statuses cannot be compared.
func paceOf(last, now status.Status) *status.Pace {
	if last.Database == nil || now.Database == nil || !last.Database.Live.CreatedAt.Equal(now.Database.Live.CreatedAt) {
		return nil
	}
	seconds := now.Database.At.Sub(last.Database.At).Seconds()
	applied := messages(now.Database) - messages(last.Database)
	if seconds <= 0 || applied < 0 {
		return nil
	}
	pace := &status.Pace{Seconds: seconds, EventsPerSecond: float64(applied) / seconds}
	if last.Lag == nil || now.Lag == nil {
		return pace
	}
	if now.Lag.Events == 0 {
		pace.SecondsLeft = new(float64)
	} else if shrinks := (float64(last.Lag.Events) - float64(now.Lag.Events)) / seconds; shrinks > 0 {
		left := float64(now.Lag.Events) / shrinks
		pace.SecondsLeft = &left
	}
	return pace
}

// messages counts the messages of the log that are in the tables.
func messages(s *status.Database) int64 {
	total := s.Duplicates
	for _, o := range s.Outcomes {
		total += o.Events
	}
	return total
}
