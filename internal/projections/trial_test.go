package projections

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/catalogue"
)

// A fee that is paid when a trial begins does not pay for the plan.
func TestAFeeAtTheBeginOfATrialDoesNotBuyThePlan(t *testing.T) {
	t.Parallel()
	sold, err := catalogue.Parse([]byte(`{"version":1,"products":{"plan":{"kind":"subscription","credits":100}}}`))
	require.NoError(t, err)
	for provider, body := range map[string]string{
		"stripe": `{"id":"evt_1","type":"invoice.paid","created":1764000000,"data":{"object":{"id":"in_1","status":"paid","amount_paid":100,"subtotal":100,
			"parent":{"subscription_details":{"subscription":"sub_1","metadata":{"user_id":"u1"}}},"lines":{"data":[
			{"amount":0,"quantity":1,"pricing":{"price_details":{"product":"plan","price":"price_1"}}},
			{"amount":100,"quantity":1,"pricing":{"price_details":{"product":"fee","price":"price_2"}}}]}}}}`,
		"paddle": `{"event_id":"evt_1","event_type":"transaction.completed","data":{"id":"txn_1","origin":"web","subscription_id":"sub_1","currency_code":"EUR",
			"custom_data":{"user_id":"u1"},"details":{"totals":{"grand_total":"100"}},"items":[
			{"quantity":1,"price":{"id":"pri_1","product_id":"plan","unit_price":{"amount":"900"},"trial_period":{"interval":"month","frequency":1}}},
			{"quantity":1,"price":{"id":"pri_2","product_id":"fee","unit_price":{"amount":"100"},"trial_period":null}}]}}`,
	} {
		s := by(t, Rules{Mode: ModeAny, Catalogue: sold}, [2]string{provider, body})
		require.Empty(t, grants(s), provider)
		require.Equal(t, "rejected unknown_product", outcomes(s)["evt_1"], provider)
	}
}
