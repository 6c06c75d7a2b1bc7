package logreport

import (
	"io"
	"strings"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/report/page"
)

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
