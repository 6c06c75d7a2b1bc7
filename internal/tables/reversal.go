package tables

import "github.com/payfold/payfold/internal/projections"

// Reversals has every refund and dispute.
var Reversals = &Table[projections.Reversal]{
	Definition: Definition{
		Name: "reversal", Key: OfEvent, InsertOnly: true,
		lookups: []lookup{{step: stepUsers, where: "provider_payment_id = any($1)", by: []NameKind{ofPaymentID}}},
		indexes: []indexOn{
			primary("event_id"),
			plain("payment", "(provider_payment_id)"),
			inUse(plain("id", "(reversal_id)")),
		},
	},
	rows: func(s *projections.State) stateRows[projections.Reversal] {
		return insertOnlyRows[projections.Reversal]{s.Reversals.Rows, s.Reversals.Inserted()}
	},
	put: (*projections.State).LoadReversal,
}
