package rowcache

// eventSet has the ids of events. A lookup reads one place of memory; in a map it would read
// several.
type eventSet struct {
	slots  []EventID // their number is a power of two; the empty id, which no event has, is a free slot
	length int
}

// newEventSet returns a set with room for about this many events.
func newEventSet(events int) eventSet {
	slots := 1 << 10
	for 2*slots < 3*events {
		slots *= 2
	}
	return eventSet{slots: make([]EventID, slots)}
}

func (s *eventSet) has(id EventID) bool { return *s.slot(id) == id }

// add adds an event that may be here already.
func (s *eventSet) add(id EventID) {
	slot := s.slot(id)
	if *slot == id {
		return
	}
	*slot = id
	s.length++
	s.grow()
}

// slot returns the slot of an event, or the free one that it would get.
func (s *eventSet) slot(id EventID) *EventID {
	last := uint64(len(s.slots) - 1)
	for at := id[0] & last; ; at = (at + 1) & last {
		if slot := &s.slots[at]; *slot == id || *slot == (EventID{}) {
			return slot
		}
	}
}

// grow keeps at least a third of the slots free, so that an event is near its place.
func (s *eventSet) grow() {
	if 3*s.length <= 2*len(s.slots) {
		return
	}
	old := s.slots
	s.slots = make([]EventID, 2*len(old))
	for _, id := range old {
		if id != (EventID{}) {
			*s.slot(id) = id
		}
	}
}

// list lists the events in no order.
func (s *eventSet) list() []EventID {
	ids := make([]EventID, 0, s.length)
	for _, id := range s.slots {
		if id != (EventID{}) {
			ids = append(ids, id)
		}
	}
	return ids
}

func (s *eventSet) size() int { return EventIDSize * len(s.slots) }
