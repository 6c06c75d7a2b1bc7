package logreport

import (
	"io"
	"time"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/report/page"
)

// Archive writes what an archive holds, what is wrong with it, and how far it is behind the log.
func Archive(w io.Writer, s *archive.Status, asJSON bool) error {
	return page.Write(w, asJSON, s, func(p *page.Page) { archiveText(p, s) })
}

func archiveText(p *page.Page, s *archive.Status) {
	for _, fault := range s.Faults {
		p.Line("%s", fault)
	}
	switch {
	case s.LogID == "":
		p.Line("%s holds no log", s.Archive)
	case s.Segments == 0:
		p.Line("%s holds nothing of log %s yet", s.Archive, s.LogID)
	default:
		p.Line("%s holds log %s: seq %d to %d, in %s of %d bytes; the newest message was stored at %s",
			s.Archive, s.LogID, s.First, s.Last, page.Count(s.Segments, "segment"), s.Bytes, s.StoredTo.Format(time.RFC3339))
	}
	switch {
	case s.LogError != "":
		p.Line("how far it is behind the log is not known: %s", s.LogError)
	case s.LagMessages == 0 && len(s.Faults) > 0:
		p.Line("it is not behind the log")
	case s.LagMessages == 0:
		p.Line("it holds all of the log")
	default:
		p.Line("it is %s behind the log; the oldest of them was stored %.0f s ago", page.Count(s.LagMessages, "message"), s.LagSeconds)
	}
}
