package explain

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv/fixture"
)

// soldSentences returns the sentences about each event of a log under fixture.Sold.
func soldSentences(t *testing.T, bodies ...string) []string {
	t.Helper()
	return sentencesUnder(t, fixture.Sold, bodies)
}

// The product that the provider names goes before that of the metadata. Its offer grants at once, not by the month.
func TestCreditsThatAreGrantedAnewAreExplained(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{
		"It says that payment t1 of user u1 arrived. It says that the subscription is active, and so does e3 (2026-01-02 09:43:20Z). It granted 9 credits. Of these, corrections took back 9.",
		"The refund takes back 500 minor units (unknown currency). It took back 6 credits. Of what reversals of the payment took back, corrections gave back 4 credits.",
		"The same payment again: e1 (seq 1) told of it before. What this event says of the payment counts, too. It set the subscription to active. It granted 4 credits. " +
			"It changed what payments grant, so a correction took back 9 credits. It changed what reversals take, so a correction gave back 4 credits.",
	}, soldSentences(t,
		`{"id":"e1","eventType":"checkout.completed","created_at":1767250000000,"object":{"transaction":"t1","amount":1000,"metadata":{"key":"yearly","user_id":"u1"}}}`,
		`{"id":"e2","eventType":"refund.created","created_at":1767260000000,"object":{"refund_amount":500,"transaction":"t1"}}`,
		`{"id":"e3","eventType":"checkout.completed","created_at":1767347000000,"object":{"transaction":"t1","product":"yearly","metadata":{"user_id":"u1"}}}`,
	))
}

// The older checkout says what the subscription sold first. The credits are granted anew under the event of the payment.
func TestACheckoutThatChangesAGrantOfItsSubscriptionSaysSo(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{
		"It names no product, so the catalogue cannot say what was sold. Other events brought what was missing: payment t1 is of user u1, and what this event says of the payment counts." +
			" It granted 34 credits. Of these, corrections took back 9.",
		"It says that the subscription is for product yearly. The payments of the subscription are other events. It set the subscription to active.",
		"It says that the subscription is for product pack. The payments of the subscription are other events. It says that the subscription is active, and so does e2 (2026-01-01 09:33:20Z). It changed what payments grant, so a correction took back 9 credits.",
	}, soldSentences(t,
		`{"id":"e1","eventType":"subscription.paid","created_at":1767250000000,"object":{"subscription":"s1","transaction":"t1","metadata":{"user_id":"u1"}}}`,
		`{"id":"e2","eventType":"checkout.completed","created_at":1767260000000,"object":{"subscription":"s1","order":"o1","product":"yearly","metadata":{"user_id":"u1"}}}`,
		`{"id":"e3","eventType":"checkout.completed","created_at":1767255000000,"object":{"subscription":"s1","order":"o1","product":"pack","metadata":{"user_id":"u1"}}}`,
	))
}
