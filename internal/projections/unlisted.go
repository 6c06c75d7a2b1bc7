package projections

import (
	"maps"
	"slices"

	"github.com/payfold/payfold/internal/events"
)

// UnlistedProduct is a product that events have named and the catalogue lacks. Because the rules ask the catalogue for
// products by name only, a catalogue that adds products changes no row unless one of them is here.
type UnlistedProduct struct {
	Product string `db:"product,key"`
}

// Unlisted is the set of the unlisted products that the folded events have named. It depends on the events and on the
// catalogue, and not on the order of the events.
type Unlisted map[string]struct{}

// Inserted lists the products, sorted. The tables may have some of them already.
func (u Unlisted) Inserted() []UnlistedProduct {
	rows := make([]UnlistedProduct, 0, len(u))
	for _, product := range slices.Sorted(maps.Keys(u)) {
		rows = append(rows, UnlistedProduct{product})
	}
	return rows
}

// noteUnlisted adds the products that the event names and the catalogue lacks. It has every name that findProduct may
// ask the catalogue for, also of a duplicate, so that the order of the events does not matter.
func (r Rules) noteUnlisted(s *State, e *events.Event) {
	if r.Catalogue == nil || !e.HasEffect() || e.Action == events.Reverse {
		return
	}
	if e.Unreadable || e.InvalidText || !r.Mode.accepts(e.Mode) { // rejected before the catalogue is asked
		return
	}
	r.noteName(s, e.Product)
	r.noteName(s, e.ProductKey)
	for i := range e.Items {
		r.noteName(s, e.Items[i].Price)
		r.noteName(s, e.Items[i].Product)
	}
}

func (r Rules) noteName(s *State, product string) {
	if product != "" && !r.Catalogue.Sells(product) {
		s.Unlisted[product] = struct{}{}
	}
}
