package rowcache

import (
	"cmp"
	"slices"

	"github.com/payfold/payfold/internal/tables"
)

// PlaceSize is the memory of a Placed.
const PlaceSize = 12

// Placed is the place of a row under one of its names. It has 48 bits of the name's hash: of a hundred million names,
// one in three million has the same bits as another.
type Placed struct {
	page uint32
	high uint32
	low  uint16
	item uint16
}

// PlacedAt returns the place of a row under one of its names.
func PlacedAt(place tables.Place, name string) Placed {
	hash := HashOf(name)
	return Placed{page: place.Page, item: place.Item, high: uint32(hash >> 32), low: uint16(hash >> 16)}
}

func (p Placed) compareName(with Placed) int {
	return cmp.Or(cmp.Compare(p.high, with.high), cmp.Compare(p.low, with.low))
}

// Places has the places of the rows of one table by their names, in PlaceSize bytes for each name of a row. The zero
// value is empty. Of may be called concurrently, but not with Add.
type Places struct{ parts [][]Placed } // each sorted

// Add adds places, which it sorts and keeps.
func (s *Places) Add(places []Placed) {
	slices.SortFunc(places, Placed.compareName)
	s.parts = append(s.parts, places)
}

// Of appends the places of all rows that have a name, and possibly places of other rows. It searches the places of each
// Add.
func (s *Places) Of(name string, to []tables.Place) []tables.Place {
	wanted := PlacedAt(tables.Place{}, name)
	for _, part := range s.parts {
		at, _ := slices.BinarySearchFunc(part, wanted, Placed.compareName)
		for ; at < len(part) && part[at].compareName(wanted) == 0; at++ {
			to = append(to, tables.Place{Page: part[at].page, Item: part[at].item})
		}
	}
	return to
}

// Size returns the memory of the places.
func (s *Places) Size() (size int) {
	for _, part := range s.parts {
		size += PlaceSize * cap(part)
	}
	return size
}
