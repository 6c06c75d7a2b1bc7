package tables

import (
	_ "embed"

	"github.com/payfold/payfold/internal/projections"
)

//go:embed duplicate_event.sql
var duplicateEventDDL string

// DuplicateEvents is the other messages with the id of an event.
var DuplicateEvents = &Table[projections.DuplicateEvent]{
	Definition: Definition{
		Name: "duplicate_event", DDL: duplicateEventDDL, Key: OfMessage, InsertOnly: true,
		indexes: []indexOn{primary("stream_seq")},
	},
	rows: func(s *projections.State) rows[projections.DuplicateEvent] {
		return addedRows[projections.DuplicateEvent]{added: s.Duplicates}
	},
}
