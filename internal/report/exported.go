package report

import (
	"io"
	"time"

	"github.com/payfold/payfold/internal/export"
	"github.com/payfold/payfold/internal/report/page"
)

// Exported writes what an export has: a table, or its manifest.
func Exported(w io.Writer, m export.Manifest, folder string, asJSON bool) error {
	return page.Write(w, asJSON, m, func(p *page.Page) {
		page.Rows(p, m.Files, "table", "comment", "sha256", "key", "columns")
		p.Line("%s has every message up to seq %d. Rights and balances are those of %s.", folder, m.Position,
			m.Moment.Format(time.RFC3339))
	})
}
