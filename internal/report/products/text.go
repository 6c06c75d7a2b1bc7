package products

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/payfold/payfold/internal/catalogue"
	"github.com/payfold/payfold/internal/report/page"
)

// Checked is what is known of a file.
type Checked struct {
	File     string   `json:"file"`
	Faults   []string `json:"faults"`
	Products int      `json:"products"`
	Answer   *Answer  `json:"tables,omitempty"`       // nil: they were not asked
	NotAsked string   `json:"not_compared,omitempty"` // why
}

// Holds reports whether the file has no fault, and lacks no product that was bought.
func (c Checked) Holds() bool {
	return len(c.Faults) == 0 && (c.Answer == nil || len(c.Answer.Missing) == 0)
}

// Write writes sentences, or one JSON object.
func (c Checked) Write(w io.Writer, asJSON bool) error {
	return page.Write(w, asJSON, c, func(p *page.Page) {
		for _, fault := range c.Faults {
			p.Line("%s: %s", c.File, fault)
		}
		if len(c.Faults) > 0 {
			return
		}
		p.Line("%s is a catalogue of %s.", c.File, page.Count(c.Products, "product"))
		if c.Answer == nil {
			p.Line("Only the file was checked: %s.", c.NotAsked)
			return
		}
		c.Answer.text(p)
	})
}

func (a *Answer) text(p *page.Page) {
	for _, list := range []struct {
		what     string
		products []string
	}{{"It adds", a.Added}, {"It changes", a.Changed}, {"It removes", a.Removed}} {
		if len(list.products) > 0 {
			p.Line("%s %s.", list.what, names(list.products))
		}
	}
	for _, b := range a.Granted {
		p.Line("Product %s was bought: %s. It would %s.", page.Name(b.Product), b.purchases(), b.would())
	}
	for _, b := range a.Missing {
		p.Line("It lacks product %s: %s.", page.Name(b.Product), b.purchases())
	}
	for _, b := range a.Unclear {
		p.Line("It has no product %s: %s. But it adds %s, which events name, too: projector rebuild --dry-run says what each "+
			"purchase gets.", page.Name(b.Product), b.purchases(), names(a.Named))
	}
	switch a.Needs {
	case Nothing:
		p.Line("The live tables were folded with this catalogue.")
	case Restart:
		p.Line("It needs no rebuild: restart the projectors with it.")
	case Rebuild:
		p.Line("It needs projector rebuild --promote; projector rebuild --dry-run says by user what would change.")
	}
}

// would says what the new catalogue gives for these purchases.
func (b *Bought) would() string {
	switch b.Kind {
	case catalogue.Pro:
		return "give a licence to each buyer whose purchase is kept"
	case catalogue.None:
		return "grant nothing"
	}
	return "grant " + page.Count(b.Credits, "credit")
}

// purchases says how many there are, of how many buyers, and for how much money.
func (b *Bought) purchases() string {
	parts := []string{page.Count(b.Purchases, "purchase"), page.Count(b.Buyers, "buyer")}
	for _, currency := range slices.Sorted(maps.Keys(b.Amounts)) {
		parts = append(parts, page.Money(b.Amounts[currency], currency))
	}
	if b.Refunded > 0 {
		parts = append(parts, page.Grouped(int64(b.Refunded))+" refunded")
	}
	if b.Userless > 0 {
		parts = append(parts, page.Grouped(int64(b.Userless))+" without a user")
	}
	return strings.Join(parts, ", ")
}

// maxNames is how many products a line names.
const maxNames = 10

func names(products []string) string {
	shown := make([]string, 0, maxNames)
	for _, product := range products[:min(maxNames, len(products))] {
		shown = append(shown, page.Name(product))
	}
	if more := len(products) - len(shown); more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(shown, ", "), more)
	}
	return strings.Join(shown, ", ")
}
