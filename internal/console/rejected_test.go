package console_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/console"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

func TestWhatHelpsABuyerWhoWaitsIsSaidOnce(t *testing.T) {
	t.Parallel()
	_, shop := fixture.NewFolded(t, 2,
		`{"id":"e1","eventType":"checkout.completed","object":{"transaction":"t1","metadata":{"kind":"one_time","credits":5}}}`,
		`{"id":"e2","eventType":"checkout.completed","object":{"transaction":"t2","metadata":{"kind":"gift","user_id":"u1"}}}`)
	server := run(t, console.Config{Log: shop.Log, Tables: shop.Tables, Guard: everybody{}, Logger: testenv.Logger(t)})
	_, text := get(t, server, "/rejected")
	require.Equal(t, 2, strings.Count(text, "<b>What to do:</b>"))
	require.Equal(t, 1, strings.Count(text, "For a buyer who waits, find the payment"))
	require.Equal(t, 1, strings.Count(text, `For a buyer who waits, <a href="#complete">see above</a>.`))
	require.Contains(t, text, `<code class="command"><span>projector</span> <span>rebuild</span> <span>--promote</span></code>.`)
	require.NotContains(t, text, "`")
}
