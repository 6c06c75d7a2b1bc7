package explain

import (
	"context"
	_ "embed"
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/report/page"
	"github.com/payfold/payfold/internal/store"
)

// Total adds up a user's payments of one currency. Its sums can have more digits than 64 bits hold.
type Total struct {
	Currency string      `db:"currency" json:"currency"`
	Paid     json.Number `db:"paid" json:"paid"`
	Refunded json.Number `db:"refunded" json:"refunded"`
}

// AnyRefunded reports whether something was refunded.
func (t Total) AnyRefunded() bool { return t.Refunded != "0" }

//go:embed user_totals.sql
var userTotals string

// readTotals adds up the payments that the user's events name.
func (p *userPage) readTotals(ctx context.Context, events []int64) (err error) {
	p.Totals, err = store.Collect(ctx, p.tx, "add up the payments", pgx.RowToStructByName[Total], userTotals, p.ID, events)
	return err
}

func (u User) totalsText(p *page.Page) {
	for _, t := range u.Totals {
		p.Line("Paid %s, refunded %s.", page.MoneyOf(string(t.Paid), t.Currency), page.MoneyOf(string(t.Refunded), t.Currency))
	}
}
