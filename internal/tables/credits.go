package tables

import "github.com/payfold/payfold/internal/projections"

// Credits has the balance of each user's credit packs.
var Credits = &Table[projections.Credits]{
	Definition: Definition{
		Name: "credits", Key: OfUser,
		lookups: []lookup{{step: stepUsers, where: "user_id = any($1)", by: []NameKind{OfUser}}},
		indexes: []indexOn{primary("user_id")},
	},
	rows: func(s *projections.State) stateRows[projections.Credits] { return &s.Credits },
	put:  (*projections.State).LoadCredits,
}
