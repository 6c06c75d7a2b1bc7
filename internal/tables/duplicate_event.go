package tables

import (
	_ "embed"

	"github.com/payfold/payfold/internal/projections"
)

//go:embed duplicate_event.sql
var duplicateEventDDL string

// DuplicateEvents has the messages whose event id an earlier message has.
var DuplicateEvents = &Table[projections.DuplicateEvent]{
	Definition: Definition{
		Name: "duplicate_event", DDL: duplicateEventDDL, Key: OfMessage, InsertOnly: true,
		indexes: []indexOn{primary("stream_seq")},
	},
	rows: func(s *projections.State) stateRows[projections.DuplicateEvent] {
		return insertOnlyRows[projections.DuplicateEvent]{added: s.Duplicates}
	},
}
