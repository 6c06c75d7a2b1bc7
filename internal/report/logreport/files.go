package logreport

import (
	"io"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/eventlog/blockstore"
	"github.com/payfold/payfold/internal/report/page"
)

// Files says whether the log's files are whole.
type Files struct {
	*blockstore.Report                  // nil for the log of a cluster
	Archive            *archive.Checked `json:"archive,omitempty"` // nil if it was not checked
	Whole              bool             `json:"whole"`
	Running            bool             `json:"running"`            // ingest writes to them meanwhile
	Salvaged           int              `json:"salvaged,omitempty"` // events that were saved
	SalvagedTo         string           `json:"-"`                  // the file that has them; empty if none was asked for
}

// Write writes text for people, or one JSON object.
func (f Files) Write(w io.Writer, asJSON bool) error {
	return page.Write(w, asJSON, f, f.text)
}

func (f Files) text(p *page.Page) {
	if f.Report != nil {
		f.filesText(p)
	}
	if f.Archive != nil {
		checkedText(p, f.Archive)
	}
}

// checkedText says whether an archive agrees with its log.
func checkedText(p *page.Page, c *archive.Checked) {
	for _, fault := range c.Faults {
		p.Line("%s", fault)
	}
	switch {
	case c.Segments > 0:
		p.Line("the archive %s has the same messages as the log in %d segments, seq %d to %d", c.Archive, c.Segments, c.First, c.Last)
	default:
		p.Line("no segment of the archive %s could be compared with the log", c.Archive)
	}
	if c.Full {
		p.Line("every byte of the archive was read")
	}
}

func (f Files) filesText(p *page.Page) {
	for _, damage := range f.Damage {
		p.Line("%s", damage)
	}
	switch {
	case len(f.Damage) > 0:
		p.Line("the log of stream %s is damaged; %d events up to seq %d are whole", f.Stream, f.Events, f.Last)
		p.Line("What to do: %s.", f.Damage[0].Advice)
	case f.Restoring:
		p.Line("log %s of stream %s is being restored from an archive, up to seq %d so far; finish with: ingest restore", f.LogID, f.Stream, f.Last)
	case f.LogID == "":
		p.Line("there is no log of stream %s yet", f.Stream)
	case f.Events == 0:
		p.Line("log %s of stream %s is whole: it has no event yet, and begins with seq %d", f.LogID, f.Stream, f.First)
	default:
		p.Line("log %s of stream %s is whole: %d events, seq %d to %d, in %d blocks of %d bytes",
			f.LogID, f.Stream, f.Events, f.First, f.Last, f.Blocks, f.Bytes)
	}
	if f.Running {
		p.Line("ingest is running: messages that are not durable yet were not checked")
	}
	if tail := f.TornTail; tail != nil {
		p.Line("the last %d bytes of %s were torn by a kill or a power cut, and never confirmed; the next start keeps them beside the log", tail.Bytes, tail.File)
		for _, file := range tail.Newer {
			p.Line("all of %s was torn too", file)
		}
	}
	if f.SalvagedTo != "" {
		p.Line("%d events are in %s", f.Salvaged, f.SalvagedTo)
	}
}
