package projections

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/catalogue"
)

// The buyer wrote the payment of somebody else into the metadata. The provider's events of the
// subscription name no payment.
func TestMetadataOfASubscriptionEventNamesNoPayment(t *testing.T) {
	t.Parallel()
	s := fold(t,
		at(1, ofType("checkout.completed", "e1", `"order":{"id":"o1","transaction":"t1"},"metadata":{"kind":"pro","user_id":"victim"}`)),
		at(2, ofType("checkout.completed", "e2", `"order":{"id":"o2"},"subscription":"s2","metadata":{"provider_payment_id":"t1","github":"mallory"}`)),
		at(3, ofType("subscription.active", "e3", `"id":"s2","metadata":{"provider_payment_id":"t1","github":"mallory"}`)),
		at(4, ofType("subscription.canceled", "e4", `"id":"s2","metadata":{"provider_payment_id":"t1"}`)))
	license, _ := s.Licenses.Get("victim")
	require.Equal(t, "active", license.Status)
	require.Empty(t, license.GitHubUsername)
	payment, _ := s.Payments.Get("t1")
	require.Empty(t, payment.SubscriptionID)
}

func TestTheProvidersProductIsShownAndNotTheBuyersKey(t *testing.T) {
	t.Parallel()
	catalogue, err := catalogue.Parse([]byte("version: 1\nproducts:\n  prod_basic: {kind: subscription, credits: 100}\n"))
	require.NoError(t, err)
	s := foldInto(t, NewState(), Rules{Mode: ModeAny, Catalogue: catalogue},
		at(1, ofType("subscription.paid", "e1", `"id":"s1","product":{"id":"prod_basic"},"last_transaction_id":"t1","metadata":{"user_id":"u1","key":"enterprise"}`)),
		at(2, ofType("subscription.active", "e2", `"id":"s1","product":{"id":"prod_basic"},"metadata":{"user_id":"u1","key":"enterprise"}`)))
	shown, _ := s.Current.Get("u1")
	require.Equal(t, "prod_basic", shown.ProductKey)
}

// The row of the order was a licence, until an event showed that its payment is a pack.
func TestAFullyRefundedPaymentOfTwoRowsLeavesNoLicence(t *testing.T) {
	t.Parallel()
	s := fold(t,
		at(1, ofType("checkout.completed", "e1", `"order":{"id":"o1","amount_paid":1000},"metadata":{"kind":"pro","user_id":"u1","github":"ada"}`)),
		at(2, ofType("checkout.completed", "e2", `"provider_payment_id":"t1","metadata":{"kind":"one_time","credits":10}`)),
		at(3, ofType("refund.created", "e3", `"transaction":{"id":"t1","order":"o1","amount_paid":1000,"refunded_amount":1000}`)))
	license, _ := s.Licenses.Get("u1")
	require.Equal(t, "revoked", license.Status)
}

func TestARefundOfZeroOfAFreePurchaseTakesNothing(t *testing.T) {
	t.Parallel()
	bought := at(1, ofType("checkout.completed", "e1", `"order":{"id":"o1","transaction":"t1","amount_paid":0,"discount_amount":1000,"amount":1000},"metadata":{"kind":"one_time","user_id":"u1","credits":500}`))
	s := fold(t, bought, at(2, ofType("refund.created", "e2", `"refund_amount":0,"status":"succeeded","transaction":{"id":"t1","amount_paid":0}`)))
	credits, _ := s.Credits.Get("u1")
	require.EqualValues(t, 500, credits.Balance)
}
