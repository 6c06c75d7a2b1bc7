package console_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/console"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

// Its kind became known after it was shown.
func TestASubscriptionThatTurnedOutToBeALicenceIsNotShown(t *testing.T) {
	t.Parallel()
	_, shop := fixture.NewFolded(t, 2,
		`{"id":"e1","eventType":"subscription.active","object":{"subscription":"s1","metadata":{"user_id":"u1"}}}`,
		`{"id":"e2","eventType":"subscription.paid","object":{"subscription":"s1","transaction":"t1","metadata":{"kind":"pro","user_id":"u1"}}}`)
	var shown int
	require.NoError(t, shop.Tables.Pool().QueryRow(t.Context(), "select count(*) from portal.subscription").Scan(&shown))
	require.Zero(t, shown)
	server := run(t, console.Config{Log: shop.Log, Tables: shop.Tables, Guard: everybody{}, Logger: testenv.Logger(t)})
	_, text := get(t, server, "/subscriptions/s1")
	require.Contains(t, text, "It is not the plan of its customer.")
	_, text = get(t, server, "/users/u1")
	require.NotContains(t, text, "The plan is this one")
}

func TestAKindThatChangesTheDirectionOfWritingIsEscaped(t *testing.T) {
	t.Parallel()
	_, shop := fixture.NewFolded(t, 1,
		`{"id":"e1","eventType":"checkout.completed","object":{"transaction":"t1","metadata":{"kind":"\u202eorp","user_id":"u1"}}}`)
	server := run(t, console.Config{Log: shop.Log, Tables: shop.Tables, Guard: everybody{}, Logger: testenv.Logger(t)})
	_, text := get(t, server, "/events/e1")
	require.NotContains(t, text, "\u202e")
	require.Contains(t, text, `<dd>\u202eorp</dd>`)
}
