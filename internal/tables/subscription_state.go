package tables

import (
	_ "embed"

	"github.com/payfold/payfold/internal/projections"
)

//go:embed subscription_state.sql
var subscriptionStateDDL string

// SubscriptionStates has every subscription, including those whose user is not known yet.
var SubscriptionStates = &Table[projections.SubscriptionState]{
	Definition: Definition{
		Name: "subscription_state", DDL: subscriptionStateDDL, Key: OfSubscription,
		NameColumns: []string{"subscription_id", "user_id"},
		lookups: []lookup{
			{step: stepSubscriptions, where: "subscription_id = any($1)", by: []NameKind{OfSubscription}},
			// "is not null" lets Postgres use the partial index, also for a long list.
			{
				step: stepUsers, by: []NameKind{OfUser},
				where: "subscription_id in (select subscription_id from subscription_state where user_id is not null and user_id = any($1))",
			},
		},
		indexes: []indexOn{
			primary("subscription_id"),
			plain("user", "(user_id) where user_id is not null"),
		},
	},
	rows:  func(s *projections.State) stateRows[projections.SubscriptionState] { return &s.Subscriptions },
	put:   (*projections.State).LoadSubscription,
	names: func(r *projections.SubscriptionState) RowNames { return RowNames{r.SubscriptionID, r.UserID} },
	links: func(r *projections.SubscriptionState) Links { return Links{{OfUser, r.UserID}} },
}
