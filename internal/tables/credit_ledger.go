package tables

import (
	_ "embed"

	"github.com/payfold/payfold/internal/projections"
)

//go:embed credit_ledger.sql
var creditLedgerDDL string

// LedgerLines has one row for every grant, reversal and correction of credits.
var LedgerLines = &Table[projections.LedgerLine]{
	Definition: Definition{
		Name: "credit_ledger", DDL: creditLedgerDDL, Key: OfPayment, InsertOnly: true,
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
