package logreport

import (
	"io"
	"time"

	"github.com/payfold/payfold/internal/report/page"
	"github.com/payfold/payfold/internal/restore"
)

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
