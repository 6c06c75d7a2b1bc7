package tables

import (
	_ "embed"

	"github.com/payfold/payfold/internal/projections"
)

//go:embed credits.sql
var creditsDDL string

// Credits has the balance of each user's credit packs.
var Credits = &Table[projections.Credits]{
	Definition: Definition{
		Name: "credits", DDL: creditsDDL, Key: OfUser, NameColumns: []string{"user_id"},
		lookups: []lookup{{step: stepUsers, where: "user_id = any($1)", by: []NameKind{OfUser}}},
		indexes: []indexOn{primary("user_id")},
	},
	rows:  func(s *projections.State) stateRows[projections.Credits] { return &s.Credits },
	put:   func(s *projections.State, r *projections.Credits) { s.Credits.Load(r.UserID, r) },
	names: func(r *projections.Credits) RowNames { return RowNames{r.UserID} },
}
