package console_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/rebuild"
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

func TestThePagesOfASchemaShowItsTables(t *testing.T) {
	t.Parallel()
	config, w := shop(t)
	past, err := config.Tables.OpenSchema(t.Context(), "past")
	require.NoError(t, err)
	t.Cleanup(past.Close)
	_, err = (&rebuild.Command{Rebuild: w.Rebuild(t, past, 0), UntilSeq: new(uint64(10))}).Run(t.Context())
	require.NoError(t, err)
	server := run(t, config)
	events := func(schema string) int {
		answer, text := get(t, server, "/events?format=csv&schema="+schema)
		require.Equal(t, http.StatusOK, answer.StatusCode, text)
		return strings.Count(text, "\n") - 1
	}
	live := events("")
	require.Greater(t, live, 10)
	for range 3 { // in turn, on the same connections
		require.LessOrEqual(t, events("past"), 10)
		require.Equal(t, live, events(""))
	}
	_, text := get(t, server, "/events?schema=past&limit=1", "Accept", "application/json")
	var list struct {
		Items []struct {
			ID string `json:"event_id"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(text), &list))
	for _, path := range []string{
		"/?schema=past", "/events?schema=past", "/measures?schema=past", "/payments?schema=past", "/events/" + list.Items[0].ID + "?schema=past",
	} {
		answer, text := get(t, server, path)
		require.Equal(t, http.StatusOK, answer.StatusCode, path)
		require.Regexp(t, `They end at seq <b>10</b>, received \d{4}-`, text, path)
	}
}
