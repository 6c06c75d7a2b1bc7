package tables

import "github.com/payfold/payfold/internal/projections"

// RevenueByDay has the revenue of each day, in few rows. A rebuild loads the whole table.
var RevenueByDay = &Table[projections.RevenueDay]{
	Definition: Definition{Name: "revenue_daily", Extra: true},
	rows:       func(s *projections.State) stateRows[projections.RevenueDay] { return &s.Revenue },
	put:        (*projections.State).LoadRevenue,
}
