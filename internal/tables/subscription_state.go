package tables

import (
	_ "embed"

	"github.com/payfold/payfold/internal/projections"
)

//go:embed subscription_state.sql
var subscriptionStateDDL string

// SubscriptionStates is every subscription, also those of nobody yet.
var SubscriptionStates = &Table[projections.SubscriptionState]{
	Definition: Definition{
		Name: "subscription_state", DDL: subscriptionStateDDL, Key: OfSubscription,
		NameIn: []string{"subscription_id", "user_id"},
		lookups: []lookup{
			{step: ofThose, where: "subscription_id = any($1)", by: []NameKind{OfSubscription}},
			// The index is of rows with a user only, and Postgres does not infer that of a long list.
			{
				step: ofUsers, by: []NameKind{OfUser},
				where: "subscription_id in (select subscription_id from subscription_state where user_id is not null and user_id = any($1))",
			},
		},
		indexes: []indexOn{
			primary("subscription_id"),
			plain("user", "(user_id) where user_id is not null"),
		},
	},
	rows:  func(s *projections.State) rows[projections.SubscriptionState] { return &s.Subscriptions },
	put:   (*projections.State).LoadSubscription,
	names: func(r *projections.SubscriptionState) RowNames { return RowNames{r.SubscriptionID, r.UserID} },
	links: func(r *projections.SubscriptionState) Links { return Links{{OfUser, r.UserID}} },
}
