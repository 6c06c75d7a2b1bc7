package console_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/store"
)

func TestAPageSaysWhichTablesItShows(t *testing.T) {
	t.Parallel()
	server, _ := serve(t)
	// Projectors, invitations and schemas are about the live tables in any case.
	const notLive = "not the live ones"
	for _, path := range []string{"/events?schema=" + store.LiveSchema, "/projectors?schema=" + store.LiveSchema, "/projectors?schema=portal_next", "/invitations?schema=portal_next", "/schemas?schema=portal_next"} {
		_, text := get(t, server, path)
		require.NotContains(t, text, notLive, path)
	}
	_, text := get(t, server, "/projectors?schema=portal_next")
	require.Contains(t, text, "This page is not about schema <b>portal_next</b>, but about the live tables.")
}
