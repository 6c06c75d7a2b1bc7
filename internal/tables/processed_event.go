package tables

import (
	_ "embed"

	"github.com/payfold/payfold/internal/projections"
)

//go:embed processed_event.sql
var processedEventDDL string

// ProcessedEvents is what became of every event. Whether an event was seen before is
// asked for by its id; see loader.load.
var ProcessedEvents = &Table[projections.ProcessedEvent]{
	Definition: Definition{
		Name: "processed_event", DDL: processedEventDDL, Key: OfEvent, InsertOnly: true,
		NameIn: []string{"event_id"},
		indexes: []indexOn{
			primary("event_id"),
			onlyLive(plain("payment", "(provider_payment_id, stream_seq) where provider_payment_id is not null")),
			onlyLive(plain("user", "(user_id, stream_seq) where user_id is not null")),
			onlyLive(plain("subscription", "(subscription_id, stream_seq) where subscription_id is not null")),
			onlyLive(unique("stream_seq", "(stream_seq)")),
		},
	},
	rows: func(s *projections.State) rows[projections.ProcessedEvent] {
		return addedRows[projections.ProcessedEvent]{added: s.Events.Inserted()}
	},
}
