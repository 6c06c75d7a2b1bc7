package store

import (
	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/projections"
)

// save queues what the fold changed, in one or two statements a table. A new
// table is one line here, its row struct and its DDL.
func save(batch *pgx.Batch, s *projections.State) {
	insert(batch, "processed_event", s.Events.Inserted())
	insert(batch, "duplicate_event", s.Duplicates)
	insert(batch, "credit_ledger", s.Ledger.Inserted())
	insert(batch, "reversal", s.Reversals.Inserted())
	saveTable(batch, "payment", &s.Payments)
	saveTable(batch, "subscription_state", &s.Subscriptions)
	saveTable(batch, "subscription", &s.Current)
	saveTable(batch, "credits", &s.Credits)
	saveTable(batch, "pro_license", &s.Licenses)
}

func saveTable[K comparable, R any](batch *pgx.Batch, name string, table *projections.Table[K, R]) {
	insert(batch, name, table.Inserted())
	update(batch, name, table.Updated())
}
