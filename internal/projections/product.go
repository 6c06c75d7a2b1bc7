package projections

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/payfold/payfold/internal/catalogue"
	"github.com/payfold/payfold/internal/events"
)

// findProduct decides which product the event is about, and how many of it were sold. Metadata, which the buyer can write,
// counts only if the provider names no product, or if there is no catalogue. Of several items, one that the catalogue
// sells comes first, what grants nothing last of them, then one for a whole period, then of changes within a period the
// last one, then the most expensive one, then the first.
func (r Rules) findProduct(f *step) {
	item := r.bestItem(f.Items, f.OccurredAt)
	if item != nil && !r.Catalogue.Sells(f.Product) && (f.Product == "" || r.offered(item) != "") {
		f.Product = cmp.Or(r.offered(item), item.Product, item.Price)
	}
	metadata := f.ProductKey
	if f.ProductKey = cmp.Or(f.Product, metadata); r.Catalogue == nil {
		f.ProductKey = cmp.Or(metadata, f.Product)
	}
	f.byBuyer = f.Product == "" && !f.Given
	f.units = f.Units
	if !f.units.Present {
		f.units = unitsOf(f.Items, f.Product)
	}
	f.setPeriod()
	f.offer = r.Catalogue.Offer(f.ProductKey, f.OccurredAt)
	if f.Given && r.Catalogue != nil && f.Credits.Present {
		f.offer = given(f.Credits.Value)
	}
	if f.offeredKind() == catalogue.None {
		f.Kind = "" // it grants nothing, whatever the metadata calls it
	}
	f.Trial = f.Trial && (f.isOfSubscription() || !f.isSoldOnce()) // of what is sold once, 0 is the price
}

// setPeriod sets the period to that of the items that are the product, if they have one of their own: another item can
// be for a year. Of several the one that ends last counts, one for a whole period before those for a part of it. If
// there are only such parts, the payment pays for a part of the period.
func (f *step) setPeriod() {
	var of *events.Item
	for i := range f.Items {
		item := &f.Items[i]
		if !item.Is(f.Product) || item.PeriodEnd.IsZero() {
			continue
		}
		if of == nil || item.Prorated == of.Prorated && item.PeriodEnd.After(of.PeriodEnd) || of.Prorated && !item.Prorated {
			of = item
		}
	}
	if of == nil {
		return
	}
	f.PeriodStart, f.PeriodEnd = of.PeriodStart, of.PeriodEnd
	f.Prorated = f.Action == events.Payment && of.Prorated
}

// isSoldOnce reports whether the catalogue sells the product without a subscription.
func (f *step) isSoldOnce() bool {
	kind := f.offeredKind()
	return kind == KindOneTime || kind == KindPro && !f.offer.LastsAsSubscription
}

// given returns the offer of credits that the shop itself grants.
func given(credits int64) *catalogue.Offer {
	return &catalogue.Offer{Kind: KindOneTime, Credits: credits, Months: 1}
}

// offerOf returns what the fact says was sold: the credits that the shop itself grants, otherwise the catalogue's offer of
// its product; nil if there is none, and without a catalogue.
func (r Rules) offerOf(f *Fact) *catalogue.Offer {
	if f.Given && r.Catalogue != nil && f.Credits != nil {
		return given(*f.Credits)
	}
	return r.Catalogue.Offer(f.Product, f.At)
}

// offered returns the id under which the catalogue sells the item; empty if it does not.
func (r Rules) offered(item *events.Item) string {
	switch {
	case r.Catalogue.Sells(item.Price):
		return item.Price
	case r.Catalogue.Sells(item.Product):
		return item.Product
	}
	return ""
}

func (r Rules) bestItem(items []events.Item, at time.Time) (best *events.Item) {
	for i := range items {
		if best == nil || r.isBefore(&items[i], best, at) {
			best = &items[i]
		}
	}
	return best
}

func (r Rules) isBefore(a, b *events.Item, at time.Time) bool {
	if order := cmp.Compare(r.standing(a, at), r.standing(b, at)); order != 0 {
		return order > 0
	}
	if a.Prorated != b.Prorated {
		return b.Prorated
	}
	if a.Prorated && !a.PeriodStart.Equal(b.PeriodStart) {
		return a.PeriodStart.After(b.PeriodStart)
	}
	return a.Amount.Value > b.Amount.Value
}

// standing orders items by what the catalogue has at that time: nothing, an offer that grants nothing, such as a fee,
// or any other.
func (r Rules) standing(item *events.Item, at time.Time) int {
	id := r.offered(item)
	switch offer := r.Catalogue.Offer(id, at); {
	case id == "":
		return 0
	case offer == nil || offer.Kind == catalogue.None:
		return 1
	}
	return sellsIt
}

// sellsIt is the standing of an item for which the catalogue grants something.
const sellsIt = 2

// sellsOthers reports whether the catalogue also grants something for another item than the one that the event is about. A
// change of the plan is no other one.
func (r Rules) sellsOthers(f *step) bool {
	return f.offer != nil && slices.ContainsFunc(f.Items, func(item events.Item) bool {
		return !item.Prorated && r.standing(&item, f.OccurredAt) == sellsIt && r.offered(&item) != f.ProductKey
	})
}

// unitsOf adds up the units of the items that are the product. Items for a part of a period count only if no other item
// is the product. Each of them is a change, and says how many of its price there are after it: the most of each price count.
// If no item says which product it is, the first item counts.
func unitsOf(items []events.Item, product string) events.Number {
	var whole, prorated events.Number
	for i, item := range items {
		changes := func(other events.Item) bool { return other.Prorated && other.Price == item.Price && other.Is(product) }
		switch {
		case !item.Is(product):
		case !item.Prorated:
			whole = plus(whole, item.Units)
		case !slices.ContainsFunc(items[:i], changes):
			after := item.Units
			for _, other := range items[i+1:] {
				if changes(other) {
					after = most(after, other.Units)
				}
			}
			prorated = plus(prorated, after)
		}
	}
	switch {
	case whole.Present:
		return whole
	case prorated.Present:
		return prorated
	case len(items) > 0 && items[0].Product == "" && items[0].Price == "":
		return items[0].Units
	}
	return events.Number{}
}

func most(a, b events.Number) events.Number {
	sum := plus(a, b)
	sum.Value = max(a.Value, b.Value)
	return sum
}

// plus adds two numbers. A number that cannot be used makes the sum such a number.
func plus(a, b events.Number) events.Number {
	return events.Number{Value: saturated(a.Value, b.Value), Present: a.Present || b.Present, Bad: a.Bad || b.Bad || a.Value < 0 || b.Value < 0}
}

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
