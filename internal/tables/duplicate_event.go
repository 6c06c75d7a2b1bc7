package tables

import "github.com/payfold/payfold/internal/projections"

// DuplicateEvents has the messages whose event id an earlier message has.
var DuplicateEvents = &Table[projections.DuplicateEvent]{
	Definition: Definition{
		Name: "duplicate_event", Key: OfMessage, InsertOnly: true,
		indexes: []indexOn{primary("stream_seq")},
	},
	rows: func(s *projections.State) stateRows[projections.DuplicateEvent] {
		return insertOnlyRows[projections.DuplicateEvent]{added: s.Duplicates}
	},
}
