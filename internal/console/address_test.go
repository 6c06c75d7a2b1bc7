package console_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// odd are ids that are more than one part of a path for a browser or a server, or none.
var odd = []string{".", "..", "/", "//", "../x", "a/b", "?x#y", "%2F", "a&b=c+d", "body"}

func TestEveryIDHasAnAddressThatABrowserKeeps(t *testing.T) {
	t.Parallel()
	server, w := serve(t)
	giveOddIDs(t, w)
	link := regexp.MustCompile(`<td><a class="id" href="([^"]*)"`)
	_, list := get(t, server, "/events?limit=100&type=none.such")
	found := link.FindAllStringSubmatch(list, -1)
	require.Len(t, found, 2*len(odd), "an event and its customer a row")
	base, err := url.Parse(server + "/events")
	require.NoError(t, err)
	for _, m := range found {
		address, err := base.Parse(html.UnescapeString(m[1])) // resolves dots, as a browser does
		require.NoError(t, err)
		answer, text := get(t, server, address.RequestURI())
		require.Equal(t, http.StatusOK, answer.StatusCode, m[1])
		require.Regexp(t, `<h1>(Event|Customer) `, text, m[1])
	}
	for _, id := range []string{"..", "/", "a/b"} {
		answer, text := get(t, server, "/search?q="+url.QueryEscape(id))
		require.Equal(t, http.StatusOK, answer.StatusCode, id)
		require.Contains(t, text, "Customer", id)
	}
	_, text := get(t, server, "/users/a%2Fb?limit=1")
	require.NotContains(t, text, `href="/users/a/b`)
}
