package browse

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

// What a rejected event of invalid text says is lost, so the operator's own event has to say all of it.
func TestAnEventThatSaysWhatTheAdviceAsksForIsUsed(t *testing.T) {
	t.Parallel()
	rules := fixture.Sold
	rules.Mode = projections.ModeLive
	sent := func(object, metadata string) string {
		_, state := fixture.OneFold(t, rules, []string{
			`{"id":"e1","eventType":"checkout.completed","object":{"mode":"prod","transaction":"t1","product":"pack","metadata":{"user_id":"u1\u0000"}}}`,
			fmt.Sprintf(`{"id":"manual_1","eventType":"checkout.completed","object":{%s"provider_payment_id":"t1","metadata":{%s"kind":"one_time","user_id":"u1","credits":25}}}`, object, metadata),
		})
		all := state.Events.Inserted()
		require.Equal(t, string(projections.InvalidText), all[0].Reason)
		return all[1].Outcome + all[1].Reason
	}
	const mode, product = `"mode":"prod",`, `"product_key":"pack",`
	require.Equal(t, "rejectedwrong_mode", sent("", product))
	require.Equal(t, "rejectedunknown_product", sent(mode, ""))
	require.Equal(t, "applied", sent(mode, product))
	for _, word := range []string{"mode", "product"} {
		require.Contains(t, sendWhatIsMissing, word)
	}
}

func TestAReversalThatSaysWhatTheAdviceAsksForTakesBack(t *testing.T) {
	t.Parallel()
	for _, eventType := range []string{"refund.created", "dispute.created"} {
		_, state := fixture.OneFold(t, fixture.AnyMode, []string{
			`{"id":"e1","eventType":"checkout.completed","object":{"transaction":"t1","amount":1000,"metadata":{"kind":"one_time","user_id":"u1","credits":100}}}`,
			fmt.Sprintf(`{"id":"e2","eventType":%q,"object":{"transaction":"t1","refund_amount":"lots"}}`, eventType),
			fmt.Sprintf(`{"id":"manual_1","eventType":%q,"object":{"transaction":"t1","refund_amount":500}}`, eventType),
		})
		require.Equal(t, string(projections.OutOfRange), state.Events.Inserted()[1].Reason)
		credits, _ := state.Credits.Get("u1")
		require.EqualValues(t, 50, credits.Reversed)
		require.Equal(t, sendReversal, advice(string(projections.OutOfRange), eventType))
	}
	require.Contains(t, advice(string(projections.OutOfRange), "checkout.completed"), sendWhatIsMissing)
}

// If the order were sent as the transaction, the event that brings the real one would be about another payment.
func TestTheAdviceAboutAPaymentThatHasOnlyAnOrderLeavesItsTransactionOpen(t *testing.T) {
	t.Parallel()
	_, state := fixture.OneFold(t, fixture.AnyMode, []string{
		`{"id":"e1","eventType":"checkout.completed","object":{"order":"o1","metadata":{"kind":"one_time","user_id":"u1","credits":100}}}`,
		`{"id":"manual_1","eventType":"refund.created","object":{"order":"o1"}}`,
		`{"id":"e3","eventType":"checkout.completed","object":{"order":{"id":"o1","transaction":"t1"},"metadata":{"kind":"one_time","user_id":"u1","credits":100}}}`,
	})
	credits, _ := state.Credits.Get("u1")
	require.EqualValues(t, 100, credits.Granted)
	for _, text := range []string{sendWhatIsMissing, sendReversal} {
		require.Contains(t, text, "the payment's transaction (or, if it has none, its order)")
	}
}
