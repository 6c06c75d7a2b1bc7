package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/payfold/payfold/internal/cli"
)

// lineEvery is how often progress is told where it is not a bar.
const lineEvery = 5 * time.Second

// progress tells how far a rebuild is: as a bar on a terminal, as lines
// elsewhere, as JSON lines on request.
type progress struct {
	out  io.Writer
	kind string // "bar", "lines", "json"
	what string
	bar  *progressbar.ProgressBar

	goal  uint64
	first uint64 // where counting began
	began time.Time
	told  time.Time
}

func newProgress(streams cli.Streams, what string, asJSON bool) *progress {
	p := &progress{out: streams.Err, kind: "lines", what: what}
	if asJSON {
		p.out, p.kind = streams.Out, "json"
	} else if file, ok := streams.Err.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		p.kind = "bar"
	}
	return p
}

// at is told what is folded, and up to where it goes. Another end begins anew.
func (p *progress) at(position, until uint64) {
	if p.began.IsZero() || p.goal != until {
		p.end()
		p.goal, p.first, p.began, p.told = until, position, time.Now(), time.Now()
		if p.kind == "bar" {
			p.bar = p.newBar()
		}
	}
	switch {
	case p.bar != nil:
		_ = p.bar.Set64(int64(position))
	case time.Since(p.told) >= lineEvery:
		p.told = time.Now()
		p.line(position)
	}
}

func (p *progress) newBar() *progressbar.ProgressBar {
	return progressbar.NewOptions64(int64(p.goal), progressbar.OptionSetWriter(p.out), progressbar.OptionSetDescription(p.what),
		progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionSetItsString("events"),
		progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish(), progressbar.OptionSetRenderBlankState(true))
}

func (p *progress) line(position uint64) {
	rate := float64(position-p.first) / time.Since(p.began).Seconds()
	left := float64(p.goal-min(position, p.goal)) / max(rate, 1)
	if p.kind == "json" {
		_ = json.NewEncoder(p.out).Encode(struct {
			Position        uint64 `json:"position"`
			Until           uint64 `json:"until"`
			EventsPerSecond int64  `json:"events_per_second"`
			SecondsLeft     int64  `json:"seconds_left"`
		}{position, p.goal, int64(rate), int64(left)})
		return
	}
	fmt.Fprintf(p.out, "%s: seq %d of %d, %.0f events/s, %.0f s left\n", p.what, position, p.goal, rate, left)
}

// end takes the bar away.
func (p *progress) end() {
	if p.bar != nil {
		_ = p.bar.Finish()
		p.bar = nil
	}
	p.began = time.Time{}
}
