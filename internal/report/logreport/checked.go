package logreport

import (
	"io"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/check"
	"github.com/payfold/payfold/internal/report/page"
)

// Checked writes whether a log is whole: its files, its archive, or both.
func Checked(w io.Writer, r check.Result, asJSON bool) error {
	return page.Write(w, asJSON, r, func(p *page.Page) {
		if r.Report != nil {
			filesText(p, r)
		}
		if r.Archive != nil {
			archiveCheckText(p, r.Archive)
		}
	})
}

// archiveCheckText says whether an archive agrees with its log.
func archiveCheckText(p *page.Page, c *archive.Checked) {
	for _, fault := range c.Faults {
		p.Line("%s", fault)
	}
	switch {
	case c.Segments > 0 && len(c.Faults) > 0:
		p.Line("the archive %s is not whole; the digests of %s, seq %d to %d, are those of the log", c.Archive, page.Count(c.Segments, "segment"), c.First, c.Last)
	case c.Segments > 0:
		p.Line("the archive %s has the same messages as the log in %s, seq %d to %d", c.Archive, page.Count(c.Segments, "segment"), c.First, c.Last)
	default:
		p.Line("no segment of the archive %s could be compared with the log", c.Archive)
	}
	if c.Full {
		p.Line("every byte of the archive was read")
	}
}

func filesText(p *page.Page, r check.Result) {
	for _, damage := range r.Damage {
		p.Line("%s", damage)
	}
	switch {
	case len(r.Damage) > 0:
		p.Line("the log of stream %s is damaged; %s whole, up to seq %d", r.Stream, page.Clause(r.Events, "event", "is", "are"), r.Last)
		p.Line("What to do: %s.", r.Damage[0].Advice)
	case r.Restoring:
		p.Line("log %s of stream %s is being restored from an archive, up to seq %d so far; finish with: ingest restore", r.LogID, r.Stream, r.Last)
	case r.LogID == "":
		p.Line("there is no log of stream %s yet", r.Stream)
	case r.Events == 0:
		p.Line("log %s of stream %s is whole: it has no event yet, and begins with seq %d", r.LogID, r.Stream, r.First)
	default:
		p.Line("log %s of stream %s is whole: %s, seq %d to %d, in %s of %d bytes",
			r.LogID, r.Stream, page.Count(r.Events, "event"), r.First, r.Last, page.Count(r.Blocks, "block"), r.Bytes)
	}
	if r.Running {
		p.Line("ingest is running: messages that are not durable yet were not checked")
	}
	if tail := r.TornTail; tail != nil {
		p.Line("the last %d bytes of %s were torn by a kill or a power cut, and never confirmed; the next start keeps them beside the log", tail.Bytes, tail.File)
		for _, file := range tail.Newer {
			p.Line("all of %s was torn too", file)
		}
	}
	if r.SalvagedTo != "" {
		p.Line("written to %s: %s", r.SalvagedTo, page.Count(r.Salvaged, "event"))
	}
}
