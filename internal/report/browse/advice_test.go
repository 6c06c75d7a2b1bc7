package browse

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/providers"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

// What a rejected event of invalid text says is lost, so the operator's own event has to say all of it.
func TestAnEventThatSaysWhatTheAdviceAsksForIsUsed(t *testing.T) {
	t.Parallel()
	rules := fixture.Sold
	rules.Mode = projections.ModeLive
	sent := func(fields string) string {
		all := foldAdvised(rules,
			`{"id":"e1","eventType":"checkout.completed","object":{"mode":"prod","transaction":"t1","product":"pack","metadata":{"user_id":"u1\u0000"}}}`,
			`{"id":"manual_1","type":"payment",`+fields+`"payment":"t1"}`,
		).Events.Inserted()
		require.Equal(t, string(projections.InvalidText), all[0].Reason)
		return all[1].Outcome + all[1].Reason
	}
	const user, product = `"user":"u1",`, `"product":"pack",`
	require.Equal(t, "rejectedmissing_user", sent(`"kind":"one_time",`+product))
	require.Equal(t, "rejectedunknown_product", sent(`"kind":"one_time",`+user))
	require.Equal(t, "applied", sent(user+product))
	for _, word := range []string{"--user USER", "--product PRODUCT", "kind and credits"} {
		require.Contains(t, CompleteIt, word)
	}
}

func TestAReversalThatSaysWhatTheAdviceAsksForTakesBack(t *testing.T) {
	t.Parallel()
	for _, eventType := range []string{"refund.created", "dispute.created"} {
		state := foldAdvised(fixture.AnyMode,
			`{"id":"e1","eventType":"checkout.completed","object":{"transaction":"t1","amount":1000,"metadata":{"kind":"one_time","user_id":"u1","credits":100}}}`,
			`{"id":"e2","eventType":"`+eventType+`","object":{"transaction":"t1","refund_amount":"lots"}}`,
			`{"id":"manual_1","type":"reversal","payment":"t1","amount":500}`,
		)
		require.Equal(t, string(projections.OutOfRange), state.Events.Inserted()[1].Reason)
		credits, _ := state.Credits.Get("u1")
		require.EqualValues(t, 50, credits.Reversed)
	}
	require.Equal(t, sendReversal, advice(string(projections.OutOfRange), true))
	require.Contains(t, advice(string(projections.OutOfRange), false), CompleteIt)
}

// If the order were sent as the transaction, the event that brings the real one would be about another payment.
func TestTheAdviceAboutAPaymentThatHasOnlyAnOrderLeavesItsTransactionOpen(t *testing.T) {
	t.Parallel()
	state := foldAdvised(fixture.AnyMode,
		`{"id":"e1","eventType":"checkout.completed","object":{"order":"o1","metadata":{"kind":"one_time","user_id":"u1","credits":100}}}`,
		`{"id":"manual_1","type":"reversal","order":"o1"}`,
		`{"id":"e3","eventType":"checkout.completed","object":{"order":{"id":"o1","transaction":"t1"},"metadata":{"kind":"one_time","user_id":"u1","credits":100}}}`,
	)
	credits, _ := state.Credits.Get("u1")
	require.EqualValues(t, 100, credits.Granted)
	for _, text := range []string{CompleteIt, sendReversal} {
		require.Contains(t, text, "PAYMENT is its transaction; if it has only an order, name that and add `--order`.")
	}
}

// foldAdvised folds bodies of the provider, and events of the shop's own.
func foldAdvised(rules projections.Rules, bodies ...string) *projections.State {
	state := projections.NewState()
	for i, body := range bodies {
		provider := events.OwnEvents
		if strings.Contains(body, "eventType") {
			provider = "provider"
		}
		m := events.Message{Provider: provider, Seq: uint64(i + 1), Body: []byte(body), ReceivedAt: time.Unix(1767348000, 0)}
		rules.Fold(state, providers.Decode(m))
	}
	return state
}
