package projections

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/catalogue"
)

// requirePayments folds the log in every order. Each time, the payments of subscription s1 must be these, such as
// "t1 of u1: pro, invites ada", and the ledger must have that sum.
func requirePayments(t *testing.T, rules Rules, sum int64, log []string, want ...string) {
	t.Helper()
	inEveryOrder(t, rules, log, func(s *State, order []int) {
		var payments []string
		for _, id := range []string{"t1", "t2", "t3"} {
			if p, known := s.Payments.Get(id); known {
				text := fmt.Sprintf("%s of %s: %s", id, p.UserID, p.Kind)
				if p.GitHubUsername != "" {
					text += ", invites " + p.GitHubUsername
				}
				payments = append(payments, text)
			}
		}
		credits := int64(0)
		for _, line := range s.Ledger.Lines() {
			credits += line.Delta
		}
		require.Equal(t, want, payments, "%v", order)
		require.Equal(t, sum, credits, "%v", order)
	})
}

const licence = `"metadata":{"kind":"pro","user_id":"u1","github":"ada"}`

// Only the first payment has metadata. The subscription knows what the others are.
func TestARenewalThatNamesNoKindTakesThatOfItsSubscription(t *testing.T) {
	t.Parallel()
	bought := at(1, checkout("e1", `"order":{"id":"o1","transaction":"t1"},"subscription":"s1",`+licence))
	renewed := at(2, paid("e2", `"id":"s1","last_transaction_id":"t2"`))
	refunded := at(3, ofType("refund.created", "e3", `"transaction":"t1"`))
	log := []string{bought, renewed, refunded}
	requirePayments(t, anyMode, 0, log, "t1 of u1: pro, invites ada", "t2 of u1: pro, invites ada")
	inEveryOrder(t, anyMode, log, func(s *State, order []int) {
		license, _ := s.Licenses.Get("u1")
		require.Equal(t, []string{"active", "t2", "ada"}, []string{license.Status, license.ProviderPaymentID, license.GitHubUsername}, "%v", order)
	})
}

func TestAStatusEventTellsWhatTheSubscriptionPaysFor(t *testing.T) {
	t.Parallel()
	one := at(2, paid("e1", `"id":"s1","last_transaction_id":"t1","metadata":{"user_id":"u1","credits":10}`))
	two := at(3, paid("e2", `"id":"s1","last_transaction_id":"t2","metadata":{"user_id":"u1","credits":10,"github":"bob"}`))
	active := at(1, ofType("subscription.active", "e3", `"id":"s1",`+licence))
	requirePayments(t, anyMode, 20, []string{one, two}, "t1 of u1: subscription", "t2 of u1: subscription")
	requirePayments(t, anyMode, 0, []string{one, two, active}, "t1 of u1: pro, invites ada", "t2 of u1: pro, invites bob")
}

func TestASubscriptionWithTwoKindsPaysForNoLicenceByItself(t *testing.T) {
	t.Parallel()
	bought := at(1, paid("e1", `"id":"s1","last_transaction_id":"t1",`+licence))
	renewed := at(2, paid("e2", `"id":"s1","last_transaction_id":"t2","metadata":{"credits":10}`))
	changed := at(3, ofType("subscription.update", "e3", `"id":"s1","metadata":{"kind":"subscription"}`))
	requirePayments(t, anyMode, 10, []string{bought, renewed, changed}, "t1 of u1: pro, invites ada", "t2 of u1: subscription")
	pack := at(3, ofType("subscription.update", "e3", `"id":"s1","metadata":{"kind":"one_time"}`))
	requirePayments(t, anyMode, 0, []string{bought, renewed, pack}, "t1 of u1: pro, invites ada", "t2 of u1: pro, invites ada")
}

// What the checkout that started the subscription says counts first.
func TestAnEventDoesNotChangeTheKindThatACheckoutLeft(t *testing.T) {
	t.Parallel()
	started := at(1, checkout("e1", `"order":"o1","subscription":"s1","metadata":{"kind":"subscription","user_id":"u1","credits":10}`))
	renewed := at(2, paid("e2", `"id":"s1","last_transaction_id":"t2"`))
	changed := at(3, ofType("subscription.update", "e3", `"id":"s1",`+licence))
	requirePayments(t, anyMode, 10, []string{started, renewed, changed}, "t2 of u1: subscription")
	started = at(1, checkout("e1", `"order":"o1","subscription":"s1","metadata":{"kind":"pro","user_id":"u1","github":"bob"}`))
	requirePayments(t, anyMode, 0, []string{started, renewed, changed}, "t2 of u1: pro, invites bob")
	changed = at(3, ofType("subscription.update", "e3", `"id":"s1","metadata":{"kind":"subscription"}`))
	requirePayments(t, anyMode, 0, []string{started, renewed, changed}, "t2 of u1: pro, invites bob")
}

func TestUnderACatalogueNoEventTellsTheKindOfOtherPayments(t *testing.T) {
	t.Parallel()
	sold, err := catalogue.Parse([]byte("version: 1\nproducts:\n  tool: {kind: pro}\n"))
	require.NoError(t, err)
	bought := at(1, paid("e1", `"id":"s1","product":"tool","last_transaction_id":"t1",`+licence))
	renewed := at(2, paid("e2", `"id":"s1","last_transaction_id":"t2"`))
	active := at(3, ofType("subscription.active", "e3", `"id":"s1",`+licence))
	requirePayments(t, Rules{Mode: ModeAny, Catalogue: sold}, 0, []string{bought, renewed, active}, "t1 of u1: pro, invites ada", "t2 of : subscription")
}

// Of two kinds of one payment the first counts. But what its subscription says of other payments does not depend on
// which of the two came first.
func TestAnEventWhosePaymentHasAnotherKindStillTellsItsKind(t *testing.T) {
	t.Parallel()
	renewed := at(3, paid("e3", `"id":"s1","last_transaction_id":"t2","metadata":{"user_id":"u1","credits":7}`))
	for name, c := range map[string]struct{ one, other, want string }{
		"two kinds": {
			checkout("e1", `"subscription":"s1","transaction":"t1","metadata":{"kind":"subscription","user_id":"u1","credits":5}`),
			paid("e2", `"id":"s1","last_transaction_id":"t1",`+licence), KindSubscription,
		},
		"two users": {
			checkout("e1", `"transaction":"t1","metadata":{"kind":"pro","user_id":"u2"}`),
			paid("e2", `"id":"s1","last_transaction_id":"t1",`+licence), KindPro,
		},
		"two subscriptions": {
			paid("e1", `"id":"s2","last_transaction_id":"t1","metadata":{"user_id":"u1"}`),
			paid("e2", `"id":"s1","last_transaction_id":"t1",`+licence), KindPro,
		},
	} {
		inEveryOrder(t, anyMode, []string{at(1, c.one), at(2, c.other), renewed}, func(s *State, order []int) {
			payment, _ := s.Payments.Get("t2")
			require.Equal(t, c.want, payment.Kind, "%s %v", name, order)
		})
	}
}
