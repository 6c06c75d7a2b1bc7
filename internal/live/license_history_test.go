package live_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/catalogue"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

// licenseHistories are logs in which a licence follows from payments that an event does not
// name.
var licenseHistories = map[string][]string{
	"the newest payments are reversed, one after the other": {
		`{"id":"e1","eventType":"checkout.completed","created_at":1767340001000,"object":{"provider_payment_id":"t1","metadata":{"kind":"pro","user_id":"u1","github":"ada"}}}`,
		`{"id":"e2","eventType":"checkout.completed","created_at":1767340003000,"object":{"provider_payment_id":"t2","metadata":{"kind":"pro","user_id":"u1","github":"bob"}}}`,
		`{"id":"e3","eventType":"checkout.completed","created_at":1767340002000,"object":{"provider_payment_id":"t3","metadata":{"kind":"pro","user_id":"u1"}}}`,
		`{"id":"e4","eventType":"refund.created","object":{"transaction":"t2"}}`,
		`{"id":"e5","eventType":"refund.created","object":{"transaction":"t3"}}`,
		`{"id":"e6","eventType":"refund.created","object":{"transaction":"t1"}}`,
		`{"id":"e7","eventType":"checkout.completed","created_at":1767340000000,"object":{"provider_payment_id":"t4","metadata":{"kind":"pro","user_id":"u1"}}}`,
	},
	"a payment comes and goes": {
		`{"id":"e1","eventType":"checkout.completed","created_at":1767340001000,"object":{"provider_payment_id":"t1","metadata":{"kind":"pro","user_id":"u1","github":"ada"}}}`,
		`{"id":"e2","eventType":"checkout.completed","created_at":1767340002000,"object":{"provider_payment_id":"t2","metadata":{"kind":"pro","user_id":"u1","github":"bob"}}}`,
		`{"id":"e3","eventType":"refund.created","object":{"transaction":"t2"}}`,
		`{"id":"e4","eventType":"checkout.completed","created_at":1767340003000,"object":{"provider_payment_id":"t3","metadata":{"kind":"pro","user_id":"u1","github":"cy"}}}`,
		`{"id":"e5","eventType":"refund.created","object":{"transaction":"t3"}}`,
	},
	"the payment gets another kind, and the next one is reversed before it is claimed": {
		`{"id":"e1","eventType":"checkout.completed","created_at":1767340001000,"object":{"provider_payment_id":"t1","metadata":{"kind":"one_time","user_id":"u1","credits":5}}}`,
		`{"id":"e2","eventType":"checkout.completed","created_at":1767340005000,"object":{"order":"o1","metadata":{"kind":"pro","user_id":"u1","github":"ada"}}}`,
		`{"id":"e3","eventType":"subscription.active","object":{"subscription":"s9","order":"o1","last_transaction_id":"t1"}}`,
		`{"id":"e4","eventType":"refund.created","object":{"transaction":"t2"}}`,
		`{"id":"e5","eventType":"checkout.completed","created_at":1767340003000,"object":{"provider_payment_id":"t2","metadata":{"kind":"pro","user_id":"u1","github":"bob"}}}`,
	},
	"a licence is revoked, and an older payment is reversed before it is claimed": {
		`{"id":"e1","eventType":"checkout.completed","created_at":1767340005000,"object":{"provider_payment_id":"t1","metadata":{"kind":"pro","user_id":"u1","github":"ada"}}}`,
		`{"id":"e2","eventType":"refund.created","object":{"transaction":"t1"}}`,
		`{"id":"e3","eventType":"refund.created","object":{"transaction":"t2"}}`,
		`{"id":"e4","eventType":"checkout.completed","created_at":1767340003000,"object":{"provider_payment_id":"t2","metadata":{"kind":"pro","user_id":"u1","github":"bob"}}}`,
	},
	"a subscription pays for licences, and then it does not": {
		`{"id":"e1","eventType":"subscription.paid","created_at":1767340001000,"object":{"id":"s1","last_transaction_id":"t1","metadata":{"user_id":"u1","credits":5}}}`,
		`{"id":"e2","eventType":"subscription.paid","created_at":1767340002000,"object":{"id":"s1","last_transaction_id":"t2","metadata":{"user_id":"u1","credits":7}}}`,
		`{"id":"e3","eventType":"subscription.active","created_at":1767340003000,"object":{"id":"s1","metadata":{"kind":"pro","github":"bob"}}}`,
		`{"id":"e4","eventType":"refund.created","object":{"transaction":"t2"}}`,
		`{"id":"e5","eventType":"subscription.paid","created_at":1767340001000,"object":{"id":"s1","last_transaction_id":"t3","metadata":{"kind":"pro","github":"ada"}}}`,
		`{"id":"e6","eventType":"subscription.update","created_at":1767340005000,"object":{"id":"s1","metadata":{"kind":"subscription"}}}`,
		`{"id":"e7","eventType":"subscription.paid","created_at":1767340006000,"object":{"id":"s1","last_transaction_id":"t4"}}`,
	},
	"a refunded payment turns out to be no licence": {
		`{"id":"e1","eventType":"subscription.active","created_at":1767340001000,"object":{"id":"s1","metadata":{"kind":"pro","user_id":"u1"}}}`,
		`{"id":"e2","eventType":"subscription.paid","created_at":1767340002000,"object":{"id":"s1","last_transaction_id":"t1","metadata":{"credits":100}}}`,
		`{"id":"e3","eventType":"refund.created","object":{"transaction":"t1"}}`,
		`{"id":"e4","eventType":"subscription.active","created_at":1767340003000,"object":{"id":"s1","metadata":{"kind":"subscription"}}}`,
	},
	"two events of one payment say together what a subscription is for": {
		`{"id":"e1","eventType":"subscription.paid","created_at":1767340000000,"object":{"metadata":{"user_id":"u1","credits":10},"subscription":"s1","order":"o2"}}`,
		`{"id":"e2","eventType":"checkout.completed","created_at":1767340004000,"object":{"metadata":{"user_id":"u1","kind":"pro"},"transaction":"t3"}}`,
		`{"id":"e3","eventType":"checkout.completed","created_at":1767340003000,"object":{"metadata":{"user_id":"u1","github":"bob"},"subscription":"s1","order":{"id":"o3","transaction":"t3"}}}`,
	},
	"an order and a transaction become one payment": {
		`{"id":"e1","eventType":"checkout.completed","created_at":1767340001000,"object":{"provider_payment_id":"t1","metadata":{"kind":"pro","user_id":"u1","github":"ada"}}}`,
		`{"id":"e2","eventType":"checkout.completed","created_at":1767340003000,"object":{"order":"o2","metadata":{"kind":"pro","user_id":"u1","github":"bob"}}}`,
		`{"id":"e3","eventType":"checkout.completed","created_at":1767340002000,"object":{"provider_payment_id":"t2","metadata":{"kind":"pro","user_id":"u2","github":"cy"}}}`,
		`{"id":"e4","eventType":"checkout.completed","created_at":1767340004000,"object":{"order":"o2","provider_payment_id":"t2","metadata":{"kind":"pro"}}}`,
		`{"id":"e5","eventType":"refund.created","object":{"order":"o2"}}`,
	},
}

// lastingHistories are the same of licences that end with their subscription.
var lastingHistories = map[string][]string{
	"the newest month is taken back": {
		`{"id":"e1","eventType":"subscription.paid","created_at":"2026-01-01T00:00:00Z","object":{"id":"s1","product":"monthly","last_transaction_id":"t1","current_period_start_date":"2026-01-01T00:00:00Z","current_period_end_date":"2026-02-01T00:00:00Z","metadata":{"user_id":"u1"}}}`,
		`{"id":"e2","eventType":"subscription.paid","created_at":"2026-02-01T00:00:00Z","object":{"id":"s1","product":"monthly","last_transaction_id":"t2","current_period_start_date":"2026-02-01T00:00:00Z","current_period_end_date":"2026-03-01T00:00:00Z","metadata":{"user_id":"u1"}}}`,
		`{"id":"e3","eventType":"refund.created","created_at":"2026-06-03T00:00:00Z","object":{"transaction":"t2"}}`,
	},
	"it is taken back before it is claimed": {
		`{"id":"e1","eventType":"subscription.paid","created_at":"2026-01-01T00:00:00Z","object":{"id":"s1","product":"monthly","last_transaction_id":"t1","current_period_start_date":"2026-01-01T00:00:00Z","current_period_end_date":"2026-02-01T00:00:00Z","metadata":{"user_id":"u1"}}}`,
		`{"id":"e2","eventType":"refund.created","created_at":"2026-06-02T00:00:00Z","object":{"transaction":"t2"}}`,
		`{"id":"e3","eventType":"subscription.paid","created_at":"2026-02-01T00:00:00Z","object":{"id":"s1","product":"monthly","last_transaction_id":"t2","current_period_start_date":"2026-02-01T00:00:00Z","current_period_end_date":"2026-03-01T00:00:00Z","metadata":{"user_id":"u1"}}}`,
		`{"id":"e4","eventType":"subscription.paid","created_at":"2026-03-01T00:00:00Z","object":{"id":"s1","product":"monthly","last_transaction_id":"t3","current_period_start_date":"2026-03-01T00:00:00Z","current_period_end_date":"2026-04-01T00:00:00Z","metadata":{"user_id":"u1"}}}`,
	},
	"months arrive backwards": {
		`{"id":"e1","eventType":"subscription.paid","created_at":"2026-03-01T00:00:00Z","object":{"id":"s1","product":"monthly","last_transaction_id":"t3","current_period_start_date":"2026-03-01T00:00:00Z","current_period_end_date":"2026-04-01T00:00:00Z","metadata":{"user_id":"u1"}}}`,
		`{"id":"e2","eventType":"refund.created","created_at":"2026-06-02T00:00:00Z","object":{"transaction":"t3"}}`,
		`{"id":"e3","eventType":"subscription.paid","created_at":"2026-02-01T00:00:00Z","object":{"id":"s1","product":"monthly","last_transaction_id":"t2","current_period_start_date":"2026-02-01T00:00:00Z","current_period_end_date":"2026-03-01T00:00:00Z","metadata":{"user_id":"u1"}}}`,
		`{"id":"e4","eventType":"subscription.paid","created_at":"2026-01-01T00:00:00Z","object":{"id":"s1","product":"monthly","last_transaction_id":"t1","current_period_start_date":"2026-01-01T00:00:00Z","current_period_end_date":"2026-02-01T00:00:00Z","metadata":{"user_id":"u1"}}}`,
	},
	"a month is paid late": {
		`{"id":"e1","eventType":"subscription.paid","created_at":"2026-02-01T00:00:00Z","object":{"id":"s1","product":"monthly","last_transaction_id":"t1","current_period_start_date":"2026-02-01T00:00:00Z","current_period_end_date":"2026-03-01T00:00:00Z","metadata":{"user_id":"u1"}}}`,
		`{"id":"e2","eventType":"subscription.paid","created_at":"2026-02-05T00:00:00Z","object":{"id":"s1","product":"monthly","last_transaction_id":"t2","current_period_start_date":"2026-01-01T00:00:00Z","current_period_end_date":"2026-02-01T00:00:00Z","metadata":{"user_id":"u1"}}}`,
		`{"id":"e3","eventType":"refund.created","created_at":"2026-06-01T00:00:00Z","object":{"transaction":"t2"}}`,
		`{"id":"e4","eventType":"refund.created","created_at":"2026-06-02T00:00:00Z","object":{"transaction":"t1"}}`,
	},
	"an older month is taken back": {
		`{"id":"e1","eventType":"subscription.paid","created_at":"2026-01-01T00:00:00Z","object":{"id":"s1","product":"monthly","last_transaction_id":"t1","current_period_start_date":"2026-01-01T00:00:00Z","current_period_end_date":"2026-02-01T00:00:00Z","metadata":{"user_id":"u1"}}}`,
		`{"id":"e2","eventType":"subscription.paid","created_at":"2026-02-01T00:00:00Z","object":{"id":"s1","product":"monthly","last_transaction_id":"t2","current_period_start_date":"2026-02-01T00:00:00Z","current_period_end_date":"2026-03-01T00:00:00Z","metadata":{"user_id":"u1"}}}`,
		`{"id":"e3","eventType":"refund.created","created_at":"2026-06-03T00:00:00Z","object":{"transaction":"t1"}}`,
		`{"id":"e4","eventType":"refund.created","created_at":"2026-06-04T00:00:00Z","object":{"transaction":"t2"}}`,
	},
	"the subscription was one for a plan": {
		`{"id":"e1","eventType":"subscription.paid","created_at":"2026-01-01T00:00:00Z","object":{"id":"s1","product":"plan","last_transaction_id":"t1","metadata":{"user_id":"u1"}}}`,
		`{"id":"e2","eventType":"subscription.paid","created_at":"2026-02-01T00:00:00Z","object":{"id":"s1","product":"monthly","last_transaction_id":"t2","metadata":{"user_id":"u1"}}}`,
		`{"id":"e3","eventType":"refund.created","created_at":"2026-06-01T00:00:00Z","object":{"transaction":"t3"}}`,
		`{"id":"e4","eventType":"subscription.paid","created_at":"2026-03-01T00:00:00Z","object":{"id":"s1","product":"monthly","last_transaction_id":"t3","metadata":{"user_id":"u1"}}}`,
	},
	"the subscription becomes one for a plan, and ends": {
		`{"id":"e1","eventType":"subscription.paid","created_at":"2026-01-01T00:00:00Z","object":{"id":"s1","product":"monthly","last_transaction_id":"t1","metadata":{"user_id":"u1"}}}`,
		`{"id":"e2","eventType":"subscription.paid","created_at":"2026-02-01T00:00:00Z","object":{"id":"s1","product":"plan","last_transaction_id":"t2","metadata":{"user_id":"u1"}}}`,
		`{"id":"e3","eventType":"subscription.expired","created_at":"2026-03-01T00:00:00Z","object":{"id":"s1"}}`,
		`{"id":"e4","eventType":"subscription.active","created_at":"2026-04-01T00:00:00Z","object":{"id":"s1"}}`,
	},
	"payments without a period, and their period comes later": {
		`{"id":"e1","eventType":"subscription.paid","created_at":"2026-01-02T00:00:00Z","object":{"id":"s1","product":"monthly","last_transaction_id":"t1","metadata":{"user_id":"u1"}}}`,
		`{"id":"e2","eventType":"subscription.paid","created_at":"2026-01-10T00:00:00Z","object":{"id":"s1","product":"monthly","last_transaction_id":"t2","metadata":{"user_id":"u1"}}}`,
		`{"id":"e3","eventType":"refund.created","created_at":"2026-01-11T00:00:00Z","object":{"transaction":"t2"}}`,
		`{"id":"e4","eventType":"subscription.update","created_at":"2026-01-12T00:00:00Z","object":{"id":"s1","current_period_start_date":"2026-01-01T00:00:00Z","current_period_end_date":"2026-02-01T00:00:00Z"}}`,
		`{"id":"e5","eventType":"subscription.update","created_at":"2026-02-01T00:00:00Z","object":{"id":"s1","current_period_start_date":"2026-02-01T00:00:00Z","current_period_end_date":"2026-03-01T00:00:00Z"}}`,
	},
	"another user had a month": {
		`{"id":"e1","eventType":"subscription.paid","created_at":"2026-01-01T00:00:00Z","object":{"id":"s1","product":"monthly","last_transaction_id":"t1","metadata":{"user_id":"u1"}}}`,
		`{"id":"e2","eventType":"subscription.paid","created_at":"2026-02-01T00:00:00Z","object":{"id":"s1","product":"monthly","last_transaction_id":"t2","metadata":{"user_id":"u2"}}}`,
		`{"id":"e3","eventType":"subscription.paid","created_at":"2026-03-01T00:00:00Z","object":{"id":"s1","product":"monthly","last_transaction_id":"t3","metadata":{"user_id":"u1"}}}`,
		`{"id":"e4","eventType":"subscription.paid","created_at":"2026-04-01T00:00:00Z","object":{"id":"s1","product":"monthly","last_transaction_id":"t4","metadata":{"user_id":"u1"}}}`,
		`{"id":"e5","eventType":"subscription.paid","created_at":"2026-05-01T00:00:00Z","object":{"id":"s1","product":"monthly","last_transaction_id":"t5","metadata":{"user_id":"u1"}}}`,
		`{"id":"e6","eventType":"subscription.paid","created_at":"2026-06-01T00:00:00Z","object":{"id":"s1","product":"monthly","last_transaction_id":"t6","metadata":{"user_id":"u1"}}}`,
		`{"id":"e7","eventType":"subscription.paid","created_at":"2026-07-01T00:00:00Z","object":{"id":"s1","product":"monthly","last_transaction_id":"t7","metadata":{"user_id":"u1"}}}`,
		`{"id":"e8","eventType":"subscription.paid","created_at":"2026-08-01T00:00:00Z","object":{"id":"s1","product":"monthly","last_transaction_id":"t8","metadata":{"user_id":"u1"}}}`,
		`{"id":"e9","eventType":"subscription.paid","created_at":"2026-09-01T00:00:00Z","object":{"id":"s1","product":"monthly","last_transaction_id":"t9","metadata":{"user_id":"u1"}}}`,
		`{"id":"e10","eventType":"subscription.expired","created_at":"2026-10-01T00:00:00Z","object":{"id":"s1"}}`,
	},
	"a payment of another user turns out to be of the subscription": {
		`{"id":"e1","eventType":"subscription.paid","created_at":"2026-01-02T00:00:00Z","object":{"id":"s1","product":"monthly","last_transaction_id":"t1","metadata":{"user_id":"u1"}}}`,
		`{"id":"e2","eventType":"subscription.paid","created_at":"2026-01-10T00:00:00Z","object":{"id":"s1","product":"monthly","last_transaction_id":"t2","metadata":{"user_id":"u1"}}}`,
		`{"id":"e3","eventType":"refund.created","created_at":"2026-01-11T00:00:00Z","object":{"transaction":"t2"}}`,
		`{"id":"e4","eventType":"subscription.update","created_at":"2026-01-12T00:00:00Z","object":{"id":"s1","current_period_start_date":"2026-01-01T00:00:00Z","current_period_end_date":"2026-02-01T00:00:00Z"}}`,
		`{"id":"e5","eventType":"checkout.completed","created_at":"2026-02-01T00:00:00Z","object":{"provider_payment_id":"t3","product":"monthly","current_period_start_date":"2026-02-01T00:00:00Z","current_period_end_date":"2026-03-01T00:00:00Z","metadata":{"user_id":"u2"}}}`,
		`{"id":"e6","eventType":"subscription.update","created_at":"2026-02-02T00:00:00Z","object":{"id":"s1","order":"o3"}}`,
		`{"id":"e7","eventType":"checkout.completed","created_at":"2026-02-03T00:00:00Z","object":{"order":"o3","provider_payment_id":"t3"}}`,
	},
	"a refund says that a payment of another user is of the subscription": {
		`{"id":"e1","eventType":"subscription.paid","created_at":"2026-01-02T00:00:00Z","object":{"id":"s1","product":"monthly","last_transaction_id":"t1","metadata":{"user_id":"u1"}}}`,
		`{"id":"e2","eventType":"subscription.paid","created_at":"2026-01-10T00:00:00Z","object":{"id":"s1","product":"monthly","last_transaction_id":"t2","metadata":{"user_id":"u1"}}}`,
		`{"id":"e3","eventType":"refund.created","created_at":"2026-01-11T00:00:00Z","object":{"transaction":"t2"}}`,
		`{"id":"e4","eventType":"subscription.update","created_at":"2026-01-12T00:00:00Z","object":{"id":"s1","current_period_start_date":"2026-01-01T00:00:00Z","current_period_end_date":"2026-02-01T00:00:00Z"}}`,
		`{"id":"e5","eventType":"checkout.completed","created_at":"2026-02-01T00:00:00Z","object":{"provider_payment_id":"t3","product":"monthly","current_period_start_date":"2026-02-01T00:00:00Z","current_period_end_date":"2026-03-01T00:00:00Z","metadata":{"user_id":"u2"}}}`,
		`{"id":"e6","eventType":"subscription.update","created_at":"2026-02-02T00:00:00Z","object":{"id":"s1","order":"o3"}}`,
		`{"id":"e7","eventType":"refund.created","created_at":"2026-02-03T00:00:00Z","object":{"refund_amount":1,"transaction":{"id":"t3","order":"o3","amount_paid":1000}}}`,
	},
	"it ends, and a month comes late": {
		`{"id":"e1","eventType":"subscription.paid","created_at":"2026-02-01T00:00:00Z","object":{"id":"s1","product":"monthly","last_transaction_id":"t2","current_period_start_date":"2026-02-01T00:00:00Z","current_period_end_date":"2026-03-01T00:00:00Z","metadata":{"user_id":"u1"}}}`,
		`{"id":"e2","eventType":"subscription.expired","created_at":"2026-03-01T00:00:00Z","object":{"id":"s1"}}`,
		`{"id":"e3","eventType":"refund.created","created_at":"2026-06-03T00:00:00Z","object":{"transaction":"t1"}}`,
		`{"id":"e4","eventType":"subscription.paid","created_at":"2026-01-01T00:00:00Z","object":{"id":"s1","product":"monthly","last_transaction_id":"t1","current_period_start_date":"2026-01-01T00:00:00Z","current_period_end_date":"2026-02-01T00:00:00Z","metadata":{"user_id":"u1"}}}`,
		`{"id":"e5","eventType":"subscription.paid","created_at":"2026-04-01T00:00:00Z","object":{"id":"s1","product":"monthly","last_transaction_id":"t4","current_period_start_date":"2026-04-01T00:00:00Z","current_period_end_date":"2026-05-01T00:00:00Z","metadata":{"user_id":"u1"}}}`,
	},
}

// A licence follows from all pro payments of its user, whether they are in a batch, in the tables
// or in memory.
func TestALicenceFollowsFromAllPaymentsOfItsUser(t *testing.T) {
	t.Parallel()
	requireHistories(t, fixture.AnyMode, licenseHistories)
	sold, err := catalogue.Parse([]byte("version: 1\nproducts: {plan: {kind: subscription}, monthly: {kind: pro, lasts: subscription}}"))
	require.NoError(t, err)
	requireHistories(t, projections.Rules{Mode: projections.ModeAny, Catalogue: sold}, lastingHistories)
}

func requireHistories(t *testing.T, rules projections.Rules, histories map[string][]string) {
	t.Helper()
	for name, bodies := range histories {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, s := fixture.Tables(t)
			_, whole := fixture.OneFold(t, rules, bodies)
			for inTables := range bodies {
				for _, together := range []bool{false, true} {
					fixture.Reset(ctx, t, s, rules)
					f := follower(t, s, rules)
					var rest []events.Message
					for i, body := range bodies {
						switch m := message(i+1, body); {
						case i < inTables:
							require.NoError(t, f.ApplyLast(ctx, m))
						case together:
							rest = append(rest, m)
						default:
							require.NoError(t, f.ApplyBacklog(ctx, m))
						}
					}
					if together {
						require.NoError(t, f.ApplyLast(ctx, rest...))
					}
					require.NoError(t, f.End(ctx))
					fixture.RequireTablesOf(ctx, t, s, whole)
					fixture.RequireSound(ctx, t, s, len(bodies))
				}
			}
		})
	}
}
