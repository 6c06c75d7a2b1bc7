package browse

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/report/page"
	"github.com/payfold/payfold/internal/store"
)

func TestAPaymentIsFoundByEachOfItsNames(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t, shop...)
	for _, name := range []string{"t1", "o1"} {
		p, err := Payment(ctx, s, name, 100)
		require.NoError(t, err)
		require.Equal(t, "o1", p.Payment.ProviderPaymentID)
		require.Equal(t, []string{"o1", "t1"}, p.Names)
		require.Equal(t, []string{"e1", "e2", "e3", "e6"}, ids(p.Events.Items))
		require.Contains(t, p.Events.Items[0].Why, "It says that payment o1 of user ")
		require.EqualValues(t, 75, p.Ledger.Sum)
		require.Len(t, p.Reversals.Items, 1)
		text, err := page.Marshal(p)
		require.NoError(t, err)
		require.Contains(t, string(text), `"payment":{"provider_payment_id":"o1","provider":"provider","transaction_id":"t1","order_id":"o1","provider_checkout_id":null,"subscription_id":null,`)
		require.Contains(t, string(text), `"credit_ledger":{"items":[{"provider_payment_id":"o1","line":1,`)
		require.Contains(t, string(text), `"facts":[{"event":"e1","seq":1,`)
		require.NotContains(t, string(text), `"known"`)
	}
	refused, err := Payment(ctx, s, "t12", 100)
	require.NoError(t, err)
	require.Nil(t, refused.Payment)
	require.Equal(t, []string{"e12"}, ids(refused.Events.Items))
	_, err = Payment(ctx, s, "nothing", 100)
	require.ErrorIs(t, err, store.ErrUnknown)
}

func TestAPaymentOfALicenceHasItsInvitations(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t, shop...)
	_, err := s.Pool().Exec(ctx, `insert into payfold.invitation (user_id, repository, provider_payment_id, status, activated_at, due_at, changed_at)
		values ('u2', 'a/b', 't8', 'pending', now(), now(), now()), ('u2', 'a/b', 'other', 'pending', now(), now(), now())`)
	require.NoError(t, err)
	p, err := Payment(ctx, s, "t8", 100)
	require.NoError(t, err)
	require.Equal(t, "active", p.License.Status)
	require.Len(t, p.Invitations, 1)
}

func TestASubscriptionHasItsPaymentsAndEvents(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t, shop...)
	named, err := Subscription(ctx, s, "s1", 100)
	require.NoError(t, err)
	require.Equal(t, "canceled", named.State.Status)
	require.Equal(t, "u1", named.Current.UserID)
	require.True(t, named.Shown)
	require.Equal(t, "t4", named.Payments.Items[0].ProviderPaymentID)
	require.Equal(t, []string{"e4", "e10"}, ids(named.Events.Items))
	implicit, err := Subscription(ctx, s, "implicit:u3", 100)
	require.NoError(t, err)
	require.True(t, implicit.Shown)
	require.Equal(t, "t11", implicit.Payments.Items[0].ProviderPaymentID)
	require.Equal(t, []string{"e11"}, ids(implicit.Events.Items))
	_, err = Subscription(ctx, s, "nothing", 100)
	require.ErrorIs(t, err, store.ErrUnknown)
}

func TestASearchFindsEveryKindOfName(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t, shop...)
	for text, want := range map[string][]Hit{
		"e3":       {{HitEvent, "e3", "refund.created, seq 3"}},
		" 3 ":      {{HitEvent, "e3", "refund.created, seq 3"}},
		"5":        {{HitEvent, "e1", "duplicate at seq 5"}},
		"t1":       {{HitPayment, "o1", "transaction t1"}},
		"o1":       {{HitPayment, "o1", "payment"}},
		"o7":       {{HitPayment, "o7", "payment"}},
		"t12":      {{HitPayment, "t12", "named by e12"}},
		"t8":       {{HitPayment, "t8", "payment"}},
		"s1":       {{HitSubscription, "s1", "canceled"}},
		"u1":       {{HitUser, "u1", "customer"}},
		"octo-cat": {{HitUser, "u2", "its GitHub user"}},
		"":         {},
		"t\x00":    nil,
	} {
		got, err := Search(ctx, s, text, false)
		require.NoError(t, err, text)
		require.ElementsMatch(t, want, got, text)
	}
}
