package report

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/payfold/payfold/internal/report/page"
)

const lineInterval = 5 * time.Second // between two lines, if progress is not a bar

// Progress shows the progress of a rebuild: as a bar on a terminal, as lines elsewhere, as
// JSON lines on request. Not for concurrent use.
type Progress struct {
	out  io.Writer
	kind string // "bar", "lines", "json"
	what string
	bar  *progressbar.ProgressBar

	goal     uint64
	first    uint64 // position at began
	began    time.Time
	lastLine time.Time
}

// NewProgress writes to errors, or as JSON to out. The argument what names the work.
func NewProgress(out, errors io.Writer, what string, asJSON bool) *Progress {
	p := &Progress{out: errors, kind: "lines", what: what}
	if asJSON {
		p.out, p.kind = out, "json"
	} else if page.IsTerminal(errors) {
		p.kind = "bar"
	}
	return p
}

// At reports the position and the sequence at which the work ends. If the end changes, At
// starts a new bar.
func (p *Progress) At(position, until uint64) {
	if p.began.IsZero() || p.goal != until {
		p.End()
		p.goal, p.first, p.began, p.lastLine = until, position, time.Now(), time.Now()
		if p.kind == "bar" {
			p.bar = p.newBar()
		}
	}
	switch {
	case p.bar != nil:
		_ = p.bar.Set64(int64(position))
	case time.Since(p.lastLine) >= lineInterval:
		p.lastLine = time.Now()
		p.line(position)
	}
}

func (p *Progress) newBar() *progressbar.ProgressBar {
	return progressbar.NewOptions64(int64(p.goal), progressbar.OptionSetWriter(p.out), progressbar.OptionSetDescription(p.what),
		progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionSetItsString("events"),
		progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish(), progressbar.OptionSetRenderBlankState(true))
}

func (p *Progress) line(position uint64) {
	rate := float64(position-p.first) / time.Since(p.began).Seconds()
	left := float64(p.goal-min(position, p.goal)) / max(rate, 1)
	if p.kind == "json" {
		_ = page.JSON(p.out, struct {
			Position        uint64 `json:"position"`
			Until           uint64 `json:"until"`
			EventsPerSecond int64  `json:"events_per_second"`
			SecondsLeft     int64  `json:"seconds_left"`
		}{position, p.goal, int64(rate), int64(left)})
		return
	}
	fmt.Fprintf(p.out, "%s: seq %d of %d, %.0f events/s, %.0f s left\n", p.what, position, p.goal, rate, left)
}

// End removes the bar.
func (p *Progress) End() {
	if p.bar != nil {
		_ = p.bar.Finish()
		p.bar = nil
	}
	p.began = time.Time{}
}
