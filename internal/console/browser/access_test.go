package browser

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheLinkOpensTheConsoleForOneBrowser(t *testing.T) {
	w := setup(t)
	w.deliver(shop()...)
	first, second := w.console.strangersTab(t), w.console.strangersTab(t)
	require.Equal(t, http.StatusUnauthorized, second.open("/events"))
	second.requireAccessible()
	require.NotContains(t, ask[string](second, `document.documentElement.outerHTML`), packEvent)

	require.Equal(t, http.StatusOK, first.open("/?token="+w.console.token))
	require.NotContains(t, first.path(), w.console.token, "the token does not stay in the address")
	require.Equal(t, http.StatusOK, first.open("/events/"+packEvent))
	require.NotContains(t, ask[string](first, `document.cookie`), "=", "scripts do not see the cookie")
	first.requireNoFaults()

	require.Equal(t, http.StatusUnauthorized, second.open("/?token=wrong"))
	require.Equal(t, http.StatusUnauthorized, second.open("/events"))
	require.Equal(t, http.StatusUnauthorized, second.open("/live"))
	second.requireNoFaultsBut(http.StatusUnauthorized)
}

func TestPersonalDataIsMaskedWhereNothingElseIsSaid(t *testing.T) {
	w, open := shopWithAMonthEnd(t)
	masked := w.startConsole().newTab(t)
	shown := map[string]bool{}
	for _, page := range pages {
		for _, accept := range []string{"text/html", "application/json"} {
			get := fmt.Sprintf(`fetch(%q, {headers: {Accept: %q}}).then(r => r.text())`, page.path, accept)
			text, all := ask[string](masked, get), ask[string](open, get)
			for _, person := range people {
				require.NotContains(t, text, person, "%s as %s", page.path, accept)
				shown[person] = shown[person] || strings.Contains(all, person)
			}
		}
	}
	for _, person := range people {
		require.True(t, shown[person], "%s is somewhere where it is not masked", person)
	}
	require.Equal(t, http.StatusForbidden, ask[int](masked, `fetch("/events/`+packEvent+`/body").then(r => r.status)`))
	require.Equal(t, http.StatusOK, ask[int](open, `fetch("/events/`+packEvent+`/body").then(r => r.status)`))
}
