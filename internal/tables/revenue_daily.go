package tables

import (
	_ "embed"

	"github.com/payfold/payfold/internal/projections"
)

//go:embed revenue_daily.sql
var revenueDailyDDL string

// RevenueByDay is few rows, which come whole; see loadExtras.
var RevenueByDay = &Table[projections.RevenueDay]{
	Definition: Definition{Name: "revenue_daily", DDL: revenueDailyDDL, Extra: true},
	rows:       func(s *projections.State) rows[projections.RevenueDay] { return &s.Revenue },
	put:        (*projections.State).LoadRevenue,
}
