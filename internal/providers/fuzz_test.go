package providers

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
)

// FuzzDecode requires that the standard library also reads what Parse accepts as JSON, and that
// Postgres can store every text of the event.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"id":"e","eventType":"subscription.paid","created_at":1,"object":{"id":"s","items":[{"units":2}],"metadata":{"credits":"7"}}}`))
	f.Add([]byte(`{"id":"e","eventType":"t","object":{"customer":{"id":"\ud800"},"order":{"id":1e400}}}`))
	f.Add([]byte(`{"id":"e","eventType":"t","object":{"metadata":{"github":"github.com/%00%ff"}}}`))
	for _, body := range nastyBodies {
		f.Add([]byte(body))
	}
	for _, body := range realBodies(f) {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, p := range All {
			result(t, p, body)
		}
		event := Decode(events.Message{Provider: "provider", Seq: 1, Body: body})
		require.NotEmpty(t, event.ID)
		_, err := parse(body)
		require.Equal(t, err != nil, event.Unreadable)
		if err != nil {
			return
		}
		require.True(t, json.Valid(body))
		texts := []string{
			event.ID, event.Type, event.Kind, event.UserID, event.SubscriptionID, event.Transaction, event.Order,
			event.ProductKey, event.Product, event.GitHubUser, string(event.Mode), event.Status, event.Currency, event.Reversal.ID,
		}
		for _, item := range event.Items {
			texts = append(texts, item.Product, item.Price)
		}
		for _, text := range texts {
			require.True(t, utf8.ValidString(text))
			require.NotContains(t, text, "\x00")
			require.LessOrEqual(t, len(text), MaxText)
		}
		for _, moment := range []int{event.PeriodStart.Year(), event.PeriodEnd.Year(), event.CanceledAt.Year(), event.OccurredAt.Year()} {
			require.True(t, moment >= 1 && moment <= 9999)
		}
	})
}
