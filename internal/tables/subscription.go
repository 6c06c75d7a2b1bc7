package tables

import "github.com/payfold/payfold/internal/projections"

// CurrentSubscriptions has, for each user, the one subscription that a portal shows.
var CurrentSubscriptions = &Table[projections.Subscription]{
	Definition: Definition{
		Name: "subscription", Key: OfUser,
		lookups: []lookup{{step: stepUsers, where: "user_id = any($1)", by: []NameKind{OfUser}}},
		indexes: []indexOn{primary("user_id")},
	},
	rows: func(s *projections.State) stateRows[projections.Subscription] { return &s.Current },
	put:  func(s *projections.State, r *projections.Subscription) { s.Current.Load(r.UserID, r) },
}
