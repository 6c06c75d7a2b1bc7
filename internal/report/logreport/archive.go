package logreport

import (
	"io"
	"strings"
	"time"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/report/page"
	"github.com/payfold/payfold/internal/restore"
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

// HealedArchive writes what was rebuilt in an archive, and what could not be rebuilt.
func HealedArchive(w io.Writer, r archive.HealResult, asJSON bool) error {
	return page.Write(w, asJSON, r, func(p *page.Page) {
		for _, healed := range r.Healed {
			p.Line("seq %d to %d are whole again, in %s; kept of what they replace: %s",
				healed.First, healed.Last, list(healed.Segments), list(healed.Kept))
		}
		for _, left := range r.Left {
			p.Line("%s", left)
		}
		switch {
		case len(r.Left) > 0:
			p.Line("%s still lacks a part of log %s: put undamaged copies of its segments in their place", r.Archive, r.LogID)
		case len(r.Healed) > 0:
			p.Line("%s is whole", r.Archive)
		default:
			p.Line("%s is whole: nothing was done", r.Archive)
		}
	})
}

func list(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}

// Restored writes the result of a restore, or of a drill.
func Restored(w io.Writer, r restore.Result, drill, asJSON bool) error {
	return page.Write(w, asJSON, r, func(p *page.Page) { restoredText(p, r, drill) })
}

func restoredText(p *page.Page, r restore.Result, drill bool) {
	took := time.Duration(r.Seconds * float64(time.Second)).Round(time.Second / 10)
	if drill {
		p.Line("log %s can be restored from %s: seq %d to %d, in %s", r.LogID, r.Archive, r.First, r.Last, took)
	} else {
		p.Line("log %s is restored from %s: seq %d to %d, in %s", r.LogID, r.Archive, r.First, r.Last, took)
	}
	if r.Begun > r.First {
		p.Line("an earlier run had restored it up to seq %d", r.Begun-1)
	}
	p.Line("every message was read back and compared with the archive; root %s", r.Root)
	if r.LostUntil > r.Last {
		p.Line("seq %d to %d are lost: a mark stands for each", r.Last+1, r.LostUntil)
	}
	if !drill {
		p.Line("the archive ends with what was stored at %s: events that ingest acknowledged later are lost, unless the provider sends them again",
			r.StoredTo.Format(time.RFC3339))
	}
}
