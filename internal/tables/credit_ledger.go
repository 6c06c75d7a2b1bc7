package tables

import (
	"cmp"
	_ "embed"

	"github.com/payfold/payfold/internal/projections"
)

//go:embed credit_ledger.sql
var creditLedgerDDL string

// LedgerLines has one row for every grant, reversal and correction of credits.
var LedgerLines = &Table[projections.LedgerLine]{
	Definition: Definition{
		Name: "credit_ledger", DDL: creditLedgerDDL, Key: OfEvent, SortColumn: "user_id", InsertOnly: true,
		NameColumns: []string{"provider_payment_id"},
		lookups: []lookup{{
			step: stepUsers, by: []NameKind{ofPaymentID}, args: linesOfPayments,
			where: "(user_id, provider_payment_id) in (select * from unnest($1::text[], $2::text[]))",
		}},
		indexes: []indexOn{
			plain("user", "(user_id, provider_payment_id)"),
			primary("event_id, line"),
		},
	},
	rows: func(s *projections.State) stateRows[projections.LedgerLine] {
		return insertOnlyRows[projections.LedgerLine]{s.Ledger.Lines, s.Ledger.Inserted()}
	},
	put:   func(s *projections.State, r *projections.LedgerLine) { s.Ledger.Load(r) },
	names: func(r *projections.LedgerLine) RowNames { return RowNames{r.ProviderPaymentID} },
}

// linesOfPayments returns the pairs of users and payment ids for the payments that were
// loaded. A user may have many lines, and there is no index of the payment id alone.
func linesOfPayments(s *projections.State) [][]string {
	var users, ids []string
	for _, p := range s.Payments.Rows() {
		for _, user := range []string{cmp.Or(p.UserID, p.Buyer), p.OtherUserID} {
			for _, id := range []string{p.ProviderPaymentID, p.MergedID} {
				if user != "" && id != "" {
					users, ids = append(users, user), append(ids, id)
				}
			}
		}
	}
	return [][]string{users, ids}
}
