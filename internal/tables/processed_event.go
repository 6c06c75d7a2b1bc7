package tables

import "github.com/payfold/payfold/internal/projections"

// ProcessedEvents has the outcome of every event. The rules need only the ids of earlier
// events, so Loader loads ids and no rows.
var ProcessedEvents = &Table[projections.ProcessedEvent]{
	Definition: Definition{
		Name: "processed_event", Key: OfEvent, InsertOnly: true,
		indexes: []indexOn{
			primary("event_id"),
			inUse(plain("payment", "(provider_payment_id, stream_seq) where provider_payment_id is not null")),
			inUse(plain("user", "(user_id, stream_seq) where user_id is not null")),
			inUse(plain("subscription", "(subscription_id, stream_seq) where subscription_id is not null")),
			inUse(plain("rejected", "(stream_seq) where outcome = 'rejected'")),
			inUse(unique("stream_seq", "(stream_seq)")),
		},
	},
	rows: func(s *projections.State) stateRows[projections.ProcessedEvent] {
		return insertOnlyRows[projections.ProcessedEvent]{added: s.Events.Inserted()}
	},
}
