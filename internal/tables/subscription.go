package tables

import (
	_ "embed"

	"github.com/payfold/payfold/internal/projections"
)

//go:embed subscription.sql
var subscriptionDDL string

// CurrentSubscriptions is the one subscription of each user that is shown.
var CurrentSubscriptions = &Table[projections.Subscription]{
	Definition: Definition{
		Name: "subscription", DDL: subscriptionDDL, Key: OfUser, NameIn: []string{"user_id"},
		lookups: []lookup{{step: ofUsers, where: "user_id = any($1)", by: []NameKind{OfUser}}},
		indexes: []indexOn{primary("user_id")},
	},
	rows:  func(s *projections.State) rows[projections.Subscription] { return &s.Current },
	put:   func(s *projections.State, r projections.Subscription) { s.Current.Load(r.UserID, r) },
	names: func(r *projections.Subscription) RowNames { return RowNames{r.UserID} },
}
