package tables

import "github.com/payfold/payfold/internal/projections"

// LedgerLines has one row for every grant, reversal and correction of credits.
var LedgerLines = &Table[projections.LedgerLine]{
	Definition: Definition{
		Name: "credit_ledger", Key: OfPayment, InsertOnly: true,
		lookups: []lookup{{step: stepUsers, where: "provider_payment_id = any($1)", by: []NameKind{ofPaymentID}}},
		indexes: []indexOn{
			primary("provider_payment_id, line"),
			plain("user", "(user_id)"),
			inUse(plain("event", "(event_id)")),
		},
	},
	rows: func(s *projections.State) stateRows[projections.LedgerLine] {
		return insertOnlyRows[projections.LedgerLine]{s.Ledger.Lines, s.Ledger.Inserted()}
	},
	put: func(s *projections.State, r *projections.LedgerLine) { s.Ledger.Load(r) },
}
