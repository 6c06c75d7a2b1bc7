package rowcache

import (
	"cmp"
	"slices"
)

// EventID stands for an event's id. It is the same for the life of the process.
type EventID [2]uint64

// EventIDSize is the memory of an EventID in EventIDs.
const EventIDSize = 16

// EventIDOf returns the EventID of an event's id. Its first half is HashOf(id).
func EventIDOf(id string) EventID { return wideHash(id) }

func (id EventID) compare(with EventID) int {
	return cmp.Or(cmp.Compare(id[0], with[0]), cmp.Compare(id[1], with[1]))
}

// EventIDs is a set of many ids in EventIDSize bytes each. The zero value is empty. Has may be called
// concurrently, but not with Add.
type EventIDs struct{ parts [][]EventID } // each sorted

// Add adds ids, which it sorts and keeps.
func (s *EventIDs) Add(ids []EventID) {
	slices.SortFunc(ids, EventID.compare)
	s.parts = append(s.parts, ids)
}

// Size returns the memory of the set.
func (s *EventIDs) Size() (size int) {
	for _, part := range s.parts {
		size += EventIDSize * cap(part)
	}
	return size
}

// Has reports whether the set has the id. It searches the ids of each Add.
func (s *EventIDs) Has(id EventID) bool {
	return slices.ContainsFunc(s.parts, func(part []EventID) bool {
		_, found := slices.BinarySearchFunc(part, id, EventID.compare)
		return found
	})
}
