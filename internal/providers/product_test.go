package providers

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A buyer can write metadata, so the rules must know which product the provider itself names.
func TestTheKeyInTheMetadataIsKeptApartFromTheProvidersProduct(t *testing.T) {
	t.Parallel()
	for _, p := range All {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			eventType := payments[p.name]
			keys, products := placesOf(p, eventType, productKey), placesOf(p, eventType, product)
			for _, place := range keys {
				event := eventOf(t, p, eventType, map[string]any{place: "licence"})
				require.Equal(t, []string{"licence", ""}, []string{event.ProductKey, event.Product}, place)
			}
			for _, place := range products {
				if p == lemonSqueezy { // a place in two texts
					continue
				}
				values := map[string]any{place: "donation"}
				event := eventOf(t, p, eventType, values)
				require.Equal(t, []string{"", "donation"}, []string{event.ProductKey, event.Product}, place)
				for _, key := range keys {
					values[key] = "licence"
				}
				event = eventOf(t, p, eventType, values)
				require.Equal(t, "donation", event.Product, place)
			}
		})
	}
}

// The shop itself names the product of its own event.
func TestAnOwnEventNamesItsProduct(t *testing.T) {
	t.Parallel()
	event := eventOf(t, payfold, "payment", map[string]any{"product": "gift"})
	require.Equal(t, []string{"", "gift"}, []string{event.ProductKey, event.Product})
}

func TestAProductThatNoTableCanStoreMakesTheEventInvalid(t *testing.T) {
	t.Parallel()
	event := with(t, map[string]any{"product": "a\x00b", "metadata.product_key": "licence"})
	require.True(t, event.InvalidText)
	require.Empty(t, event.Product)
}
