package browse

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/store"
)

// Standing is what customers owe. It is added up from all rows, so it is kept for a while; its Moment is that of the
// computation.
type Standing struct {
	Moment
	PastDue []Amounts `json:"past_due"` // subscriptions, with the last payment of each
	Debtors int64     `json:"debtors"`  // customers who owe credits
	Owed    int64     `json:"owed_credits"`
	Owing   []string  `json:"owing"`            // some of these customers, those who owe most first
	AllOwed bool      `json:"debtors_complete"` // false: there can be more
	// Fault says why these numbers cannot be added up.
	Fault string `json:"fault,omitempty"`
}

const (
	maxDebtors = 1000 // customers whose wallets are added up
	maxOwing   = 5    // whom a page names
)

// Standing returns what customers owe, at most as old as a measure.
func (m *Measures) Standing(ctx context.Context, db *store.Store) (Standing, error) {
	last, err := m.standing.get(ctx, db)
	if err != nil {
		return Standing{}, err
	}
	last.value.Moment, last.value.Fault = last.Moment, last.fault
	return last.value, nil
}

//go:embed past_due.sql
var pastDueSQL string

//go:embed debts.sql
var debtsSQL string

func readStanding(ctx context.Context, tx pgx.Tx, now Moment, _ *time.Location) (s Standing, err error) {
	if s.PastDue, err = readAmounts(ctx, tx, "the subscriptions that are past due", pastDueSQL); err != nil {
		return s, err
	}
	if !now.isLive() { // apps spend what the live tables grant, so nobody owes these
		s.AllOwed = true
		return s, nil
	}
	if err = tx.QueryRow(ctx, debtsSQL, maxDebtors, maxOwing).Scan(&s.Debtors, &s.Owed, &s.Owing, &s.AllOwed); err != nil {
		return s, fmt.Errorf("add up the debts: %w", err)
	}
	return s, nil
}
