package explain

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/live"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

// soldSentences returns the sentences about each event of a history under fixture.Sold.
func soldSentences(t *testing.T, bodies ...string) []string {
	t.Helper()
	ctx, s := fixture.Tables(t)
	fixture.Reset(ctx, t, s, fixture.Sold)
	var log []events.Event
	for i, body := range bodies {
		log = append(log, fixture.Event(t, uint64(i+1), body))
	}
	_, err := live.Apply(ctx, s, fixture.Sold, log, store.Advance{LogID: "log-1", From: fixture.From(0, 0), To: uint64(len(log))})
	require.NoError(t, err)
	return sentencesOf(ctx, t, s, len(bodies))
}

// The product that the provider names goes before that of the metadata. Its offer grants at once, not by the month.
func TestCreditsThatAreGrantedAnewAreExplained(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{
		"It claimed payment t1 for user u1. It set the subscription to active. It granted 9 credits. Of these, corrections took back 9.",
		"The refund takes back 500. It took back 6 credits. Of what reversals of the payment took back, corrections gave back 4 credits.",
		"e1 (seq 1) had claimed its payment before. It filled in what the payment lacked. It granted 4 credits. " +
			"It showed that earlier grants were wrong, so a correction took back 9 credits. It showed that earlier reversals were wrong, so a correction gave back 4 credits.",
	}, soldSentences(t,
		`{"id":"e1","eventType":"checkout.completed","created_at":1767250000000,"object":{"transaction":"t1","amount":1000,"metadata":{"key":"yearly","user_id":"u1"}}}`,
		`{"id":"e2","eventType":"refund.created","created_at":1767260000000,"object":{"refund_amount":500,"transaction":"t1"}}`,
		`{"id":"e3","eventType":"checkout.completed","created_at":1767350000000,"object":{"transaction":"t1","product":"yearly","metadata":{"user_id":"u1"}}}`,
	))
}

// The second checkout changes what the subscription sells. The credits are granted anew under the event of the payment.
func TestACheckoutThatChangesAGrantOfItsSubscriptionSaysSo(t *testing.T) {
	t.Parallel()
	const claimsNothing = "It set the subscription's state. It claimed no payment itself; another event says that the payment arrived."
	said := soldSentences(t,
		`{"id":"e1","eventType":"subscription.paid","created_at":1767250000000,"object":{"subscription":"s1","transaction":"t1","metadata":{"user_id":"u1"}}}`,
		`{"id":"e2","eventType":"checkout.completed","created_at":1767260000000,"object":{"subscription":"s1","order":"o1","metadata":{"key":"yearly","user_id":"u1"}}}`,
		`{"id":"e3","eventType":"checkout.completed","created_at":1767350000000,"object":{"subscription":"s1","order":"o1","product":"yearly","metadata":{"user_id":"u1"}}}`,
	)
	require.Contains(t, said[0], "It granted 13 credits. Of these, corrections took back 9.")
	require.Equal(t, claimsNothing, said[1])
	require.Equal(t, claimsNothing+" It showed that earlier grants were wrong, so a correction took back 9 credits.", said[2])
}
