package projections

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func pro(id, transaction, more string) string {
	return checkout(id, `"provider_payment_id":"`+transaction+`","metadata":{"kind":"pro","user_id":"u1"`+more+`}`)
}

func TestALicenceShowsItsNewestPayment(t *testing.T) {
	t.Parallel()
	first := pro("e1", "t1", `,"key":"solo","github":"ada"`)
	second := pro("e2", "t2", `,"key":"team","github":"bob"`)
	for name, c := range map[string]struct {
		log  []string
		want string
	}{
		"in order": {
			[]string{at(1, first), at(2, second)},
			"github_username=bob product_key=team provider_payment_id=t2 activated_at=01-02T10:02:00Z event_id=e2 stream_seq=2",
		},
		"the older one late": {
			[]string{at(2, second), at(1, first)},
			"github_username=bob product_key=team provider_payment_id=t2 activated_at=01-02T10:02:00Z event_id=e2 stream_seq=1",
		},
		"at the same time the last in the alphabet": {
			[]string{at(1, second), at(1, first)},
			"github_username=bob product_key=team provider_payment_id=t2 activated_at=01-02T10:01:00Z event_id=e2 stream_seq=1",
		},
		"a repetition makes no payment newer": {
			[]string{at(1, first), at(2, second), at(3, pro("e3", "t1", `,"github":"cy"`))},
			"github_username=bob product_key=team provider_payment_id=t2 activated_at=01-02T10:02:00Z event_id=e2 stream_seq=2",
		},
		"nor one at the same time": {
			[]string{at(1, first), at(1, second), at(1, pro("e3", "t1", `,"github":"cy"`))},
			"github_username=bob product_key=team provider_payment_id=t2 activated_at=01-02T10:01:00Z event_id=e2 stream_seq=2",
		},
		"a repetition fills what is missing": {
			[]string{at(1, pro("e1", "t1", "")), at(2, pro("e2", "t1", `,"key":"solo","github":"ada"`))},
			"github_username=ada product_key=solo provider_payment_id=t1 activated_at=01-02T10:01:00Z event_id=e1 stream_seq=1",
		},
		"and changes nothing that is known": {
			[]string{at(1, first), at(2, pro("e2", "t1", `,"key":"team","github":"cy"`))},
			"github_username=ada product_key=solo provider_payment_id=t1 activated_at=01-02T10:01:00Z event_id=e1 stream_seq=1",
		},
		"a renewal that does not name the GitHub user": {
			[]string{at(1, first), at(2, pro("e2", "t2", ""))},
			"provider_payment_id=t2 activated_at=01-02T10:02:00Z event_id=e2 stream_seq=2",
		},
		"an older payment that does": {
			[]string{at(2, pro("e2", "t2", "")), at(1, first)},
			"provider_payment_id=t2 activated_at=01-02T10:02:00Z event_id=e2 stream_seq=1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, []string{"pro_license user_id=u1 status=active " + c.want}, lines("pro_license", fold(t, c.log...).Licenses.Inserted()))
		})
	}
}

// Anybody can open a checkout link with the user id of somebody else.
func TestAStrangersPurchaseNeverChangesTheGitHubUserOfAnother(t *testing.T) {
	t.Parallel()
	own := at(1, pro("e1", "t1", `,"github":"victim"`))
	strangers := at(2, pro("e2", "t2", `,"github":"mallory"`))
	refunded := at(3, refund("r2", `"transaction":"t2"`))
	for _, log := range [][]string{{own, strangers, refunded}, {strangers, own, refunded}, {strangers, refunded, own}, {refunded, strangers, own}} {
		license, _ := fold(t, log...).Licenses.Get("u1")
		require.Equal(t, "active", license.Status)
		require.Equal(t, "t1", license.ProviderPaymentID)
		require.Equal(t, "victim", license.GitHubUsername)
	}
}

func TestAPaymentKeepsTheEarliestGitHubUserInAnyOrder(t *testing.T) {
	t.Parallel()
	events := []string{
		at(1, pro("e1", "t1", "")), at(2, pro("e2", "t1", `,"github":"zoe"`)), at(2, pro("e3", "t1", `,"github":"ada"`)), at(3, pro("e4", "t1", `,"github":"abe"`)),
	}
	for _, order := range [][]int{{0, 1, 2, 3}, {3, 2, 1, 0}, {2, 3, 0, 1}, {1, 0, 3, 2}, {3, 1, 0, 2}} {
		var log []string
		for _, i := range order {
			log = append(log, events[i])
		}
		s := fold(t, log...)
		payment, _ := s.Payments.Get("t1")
		require.Equal(t, "zoe", payment.GitHubUsername, order)
		license, _ := s.Licenses.Get("u1")
		require.Equal(t, "zoe", license.GitHubUsername, order)
	}
}

func TestALicenceGrantsNoCredits(t *testing.T) {
	t.Parallel()
	s := fold(t, pro("e1", "t1", `,"credits":200`))
	require.Empty(t, grants(s))
	require.Empty(t, s.Credits.Inserted())
	payment, _ := s.Payments.Get("t1")
	require.Nil(t, payment.Credits)
}

func TestTheGitHubUserIsReadFromEveryFormOfTheName(t *testing.T) {
	t.Parallel()
	for _, more := range []string{
		`"github_username":"octo"`, `"githubUsername":"octo"`, `"github_login":"octo"`, `"github":"octo"`,
		`"github":"@octo"`, `"github":" octo "`, `"github":"github.com/octo"`, `"github":"https://github.com/octo"`,
		`"github":"http://www.github.com/octo/"`, `"github":"https://github.com/octo/repo?tab=stars#x"`,
	} {
		license, _ := fold(t, pro("e1", "t1", ","+more)).Licenses.Get("u1")
		require.Equal(t, "octo", license.GitHubUsername, more)
	}
	for _, more := range []string{``, `,"github":""`, `,"github":null`, `,"github":{"login":"octo"}`} {
		license, ok := fold(t, pro("e1", "t1", more)).Licenses.Get("u1")
		require.True(t, ok, "a licence needs no GitHub user")
		require.Empty(t, license.GitHubUsername)
	}
}

// A state has only the licence of payments that cannot change.
func TestALoadedLicenceStandsForThePaymentsThatAreNotLoaded(t *testing.T) {
	t.Parallel()
	loaded := ProLicense{
		UserID: "u1", Status: "active", GitHubUsername: "ada", ProviderPaymentID: "t0", ActivatedAt: minuteOf(5), EventID: "e0", StreamSeq: 1,
	}
	for name, c := range map[string]struct {
		log     []string
		payment string
		changed bool
	}{
		"an older payment":                     {[]string{at(4, pro("e1", "t1", ""))}, "t0", false},
		"a newer payment":                      {[]string{at(6, pro("e1", "t1", ""))}, "t1", true},
		"a newer payment, which is reversed":   {[]string{at(6, pro("e1", "t1", "")), at(7, refund("r1", `"transaction":"t1"`))}, "t0", true},
		"a reversed payment, which is claimed": {[]string{at(7, refund("r1", `"transaction":"t1"`)), at(6, pro("e1", "t1", ""))}, "t0", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := NewState()
			s.LoadLicense(&loaded)
			foldInto(t, s, anyMode, c.log...)
			license, _ := s.Licenses.Get("u1")
			require.Equal(t, c.payment, license.ProviderPaymentID)
			if c.payment == "t0" {
				require.Equal(t, loaded, license)
			}
			require.Equal(t, c.changed, len(s.Licenses.Updated()) == 1)
		})
	}
}

// Two providers name the period of no payment. The plan itself stays paid.
func TestARefundOfOnlyAChangeEndsNoLicence(t *testing.T) {
	t.Parallel()
	lemon := func(at, event, id, attributes string) [2]string {
		return [2]string{"lemonsqueezy", `{"meta":{"event_name":"` + event + `","custom_data":{"user_id":"u1"}},"data":{"id":"` + id +
			`","attributes":{"updated_at":"2026-01-` + at + `T10:00:00Z",` + attributes + `}}}`}
	}
	dodo := func(at, event, data string) [2]string {
		return [2]string{"dodo", `{"business_id":"b","type":"` + event + `","timestamp":"2026-01-` + at + `T10:00:00Z","data":{"metadata":{"user_id":"u1"},` + data + `}}`}
	}
	plan := func(product string) string {
		return `"subscription_id":"s1","status":"active","product_id":"` + product + `","previous_billing_date":"2026-01-01T10:00:00Z","next_billing_date":"2026-02-01T10:00:00Z"`
	}
	for provider, life := range map[string][][2]string{
		"lemonsqueezy": {
			lemon("01", "order_created", "1", `"status":"paid","total":900,"first_order_item":{"variant_id":1}`),
			lemon("01", "subscription_created", "1", `"status":"active","order_id":1,"variant_id":1,"renews_at":"2026-02-01T10:00:00Z"`),
			lemon("05", "subscription_updated", "1", `"status":"active","order_id":1,"variant_id":2,"renews_at":"2026-02-01T10:00:00Z"`),
			lemon("05", "subscription_payment_success", "2", `"status":"paid","subscription_id":1,"total":900,"subtotal":900,"billing_reason":"updated"`),
			lemon("06", "subscription_payment_refunded", "2", `"status":"refunded","subscription_id":1,"total":900,"refunded_amount":900,"billing_reason":"updated"`),
			lemon("07", "order_refunded", "1", `"status":"refunded","total":900,"refunded_amount":900`),
		},
		"dodo": {
			dodo("01", "subscription.active", plan("basic")),
			dodo("01", "payment.succeeded", `"subscription_id":"s1","status":"succeeded","total_amount":900,"payment_id":"1"`),
			dodo("05", "subscription.plan_changed", plan("plus")),
			dodo("05", "payment.succeeded", `"subscription_id":"s1","status":"succeeded","total_amount":900,"payment_id":"2"`),
			dodo("06", "refund.succeeded", `"refund_id":"r2","payment_id":"2","status":"succeeded","amount":900`),
			dodo("07", "refund.succeeded", `"refund_id":"r1","payment_id":"1","status":"succeeded","amount":900`),
		},
	} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			rules := Rules{Mode: ModeAny, Catalogue: catalogueOf("version: 1\nproducts:\n  lemonsqueezy:variant:1: {kind: pro, lasts: subscription}\n" +
				"  lemonsqueezy:variant:2: {kind: pro, lasts: subscription}\n  basic: {kind: pro, lasts: subscription}\n  plus: {kind: pro, lasts: subscription}")}
			for refunds, want := range map[int]string{1: statusActive, 2: statusRevoked} {
				events := life[:len(life)-2+refunds]
				for _, order := range orders(len(events)) {
					var some [][2]string
					for _, i := range order {
						some = append(some, events[i])
					}
					l, _ := by(t, rules, some...).Licenses.Get("u1")
					require.Equal(t, want, l.Status, "%d refunds, %v", refunds, order)
				}
			}
		})
	}
}

// A buyer can change to a plan of another kind.
func TestALicenceEndsWithASubscriptionThatBecameAnotherKind(t *testing.T) {
	t.Parallel()
	rules := Rules{Mode: ModeAny, Catalogue: catalogueOf("version: 1\nproducts:\n  tool: {kind: pro, lasts: subscription}\n  plan: {kind: subscription}")}
	of := func(month int, product, transaction string) string {
		return at(month, paid("e"+transaction, `"id":"s1","product":"`+product+`","last_transaction_id":"`+transaction+`","metadata":{"user_id":"u1"}`))
	}
	s := foldInto(t, NewState(), rules, of(1, "tool", "t1"), of(2, "plan", "t2"), at(3, ofType("subscription.canceled", "e3", `"id":"s1"`)))
	l, _ := s.Licenses.Get("u1")
	require.Equal(t, []string{statusRevoked, "e3"}, []string{l.Status, l.EventID})
}

// A subscription can have payments of several users.
func TestALicenceOfEachUserEndsAtTheFirstEndOfTheSubscription(t *testing.T) {
	t.Parallel()
	rules := Rules{Mode: ModeAny, Catalogue: catalogueOf("version: 1\nproducts: {tool: {kind: pro, lasts: subscription}}")}
	of := func(month int, user string) string {
		return at(month, paid("e"+user, `"id":"s1","product":"tool","last_transaction_id":"t`+user+`","metadata":{"user_id":"`+user+`"}`))
	}
	bodies := []string{
		of(1, "u1"), of(2, "u2"),
		at(3, ofType("subscription.canceled", "canceled", `"id":"s1"`)), at(4, ofType("subscription.expired", "expired", `"id":"s1"`)),
	}
	for _, order := range orders(len(bodies)) {
		s := NewState()
		for _, i := range order {
			foldInto(t, s, rules, bodies[i])
		}
		for _, user := range []string{"u1", "u2"} {
			l, _ := s.Licenses.Get(user)
			require.Equal(t, []string{statusRevoked, "canceled"}, []string{l.Status, l.EventID}, "%s %v", user, order)
		}
	}
}
