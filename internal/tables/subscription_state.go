package tables

import "github.com/payfold/payfold/internal/projections"

// SubscriptionStates has every subscription that an event has named, and the facts from which it follows. The view
// subscription_state shows those that have a status.
var SubscriptionStates = &Table[projections.SubscriptionState]{
	Definition: Definition{
		Name: "subscription_facts", Key: OfSubscription,
		lookups: []lookup{
			{step: stepSubscriptions, where: "subscription_id = any($1)", by: []NameKind{OfSubscription}},
			{step: stepUsers, where: "subscription_id = any($1)", args: otherSubscriptions},
			// "is not null" lets Postgres use the partial index, also for a long list.
			{
				step: stepUsers, by: []NameKind{OfUser},
				where: "subscription_id in (select subscription_id from subscription_facts where user_id is not null and user_id = any($1))",
			},
			{step: stepLicensed, where: "subscription_id = any($1)", args: otherSubscriptions},
		},
		indexes: []indexOn{
			primary("subscription_id"),
			plain("user", "(user_id) where user_id is not null"),
			inUse(plain("status", "(status, subscription_id) where status is not null")),
		},
	},
	rows: func(s *projections.State) stateRows[projections.SubscriptionState] { return &s.Subscriptions },
	put:  (*projections.State).LoadSubscription,
	// A subscription of licences can end them.
	links: func(r *projections.SubscriptionState) (to Links) {
		for _, user := range r.Users() {
			to = append(to, Link{OfUser, user})
			if r.Kind == projections.KindPro {
				to = append(to, Link{OfLicensed, user})
			}
		}
		return to
	},
}

// otherSubscriptions returns the subscriptions to which rows lead that were loaded after the subscriptions.
func otherSubscriptions(l loading) [][]string { return [][]string{l.laterNames(OfSubscription)} }
