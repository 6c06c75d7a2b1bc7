package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv/issuer"
	"github.com/payfold/payfold/internal/testenv/ports"
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

	second.open("/events/" + packEvent)
	second.do(fill(`[name=token]`, w.console.token))
	require.Equal(t, http.StatusOK, second.load(click(`form[action="/login"] button`)))
	require.Equal(t, "/events/"+packEvent, second.path(), "the page that was asked for")

	third := w.console.strangersTab(t)
	require.Equal(t, http.StatusUnauthorized, third.open("/?token=wrong"))
	require.Equal(t, http.StatusUnauthorized, third.open("/events"))
	require.Equal(t, http.StatusUnauthorized, third.open("/live"))
	third.requireNoFaultsBut(http.StatusUnauthorized)
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

func TestSomebodyLogsOut(t *testing.T) {
	w := setup(t)
	for _, scripts := range []bool{true, false} {
		tab, other := w.console.newTab(t), w.console.newTab(t)
		if !scripts {
			tab.disableScripts()
		}
		tab.open("/events")
		require.Equal(t, http.StatusOK, tab.load(click(logout)))
		require.Equal(t, "You are logged out", heading(tab))
		if scripts {
			tab.requireAccessible()
		}
		tab.requireNoFaultsBut(http.StatusUnauthorized) // the request for /live can come after the logout
		require.Equal(t, http.StatusUnauthorized, tab.open("/events"))
		require.Equal(t, http.StatusOK, other.open("/events"), "somebody else's session goes on")
	}
}

const logout = `form[action="/logout"] button`

func heading(b *tab) string { return ask[string](b, `document.querySelector("h1").textContent`) }

func TestAProxyLogsIn(t *testing.T) {
	w := setup(t)
	w.deliver(shop()...)
	behind := ports.Free(t)
	target, err := url.Parse("http://" + behind)
	require.NoError(t, err)
	forward := httputil.NewSingleHostReverseProxy(target)
	proxy := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		r.Header.Set("X-Forwarded-User", "anna")
		forward.ServeHTTP(out, r)
	}))
	t.Cleanup(proxy.Close)
	w.startGuarded(behind, "CONSOLE_PROXY_HEADER=X-Forwarded-User", "CONSOLE_TRUSTED_PROXIES=127.0.0.1")
	tab := (&console{url: proxy.URL}).strangersTab(t)
	require.Equal(t, http.StatusOK, tab.open("/users/"+buyer))
	require.Zero(t, ask[int](tab, `document.querySelectorAll('`+logout+`').length`), "the proxy logs out")
	tab.awaitTrue(followsTheTables)
	w.deliver(pack("evt_live", buyer, 1))
	tab.awaitTrue(has("evt_live"))
	tab.requireNoFaults()
	around := (&console{url: "http://" + behind}).strangersTab(t)
	require.Equal(t, http.StatusUnauthorized, around.open("/users/"+buyer))
	around.requireAccessible()
}

func TestAnIssuerLogsIn(t *testing.T) {
	w := setup(t)
	w.deliver(shop()...)
	address := ports.Free(t)
	_, port, _ := strings.Cut(address, ":")
	open := &console{url: "http://localhost:" + port}
	provider := issuer.New(t, open.url)
	w.startGuarded(address, "CONSOLE_PUBLIC_URL="+open.url, "CONSOLE_OIDC_ISSUER="+provider.URL,
		"CONSOLE_OIDC_CLIENT_ID="+issuer.ClientID, "CONSOLE_OIDC_CLIENT_SECRET="+issuer.ClientSecret, "CONSOLE_OIDC_ALLOWED=anna@example.com")
	tab := open.strangersTab(t)
	require.Equal(t, http.StatusUnauthorized, tab.open("/users/"+buyer))
	tab.requireAccessible()
	tab.takeFaults() // the status, which the browser tells of
	login := click(`a[href^="/login"]`)
	tab.do(login)
	tab.awaitTrue(`document.querySelector("h1")?.textContent === "Customer ` + buyer + `"`)
	require.Equal(t, "/users/"+buyer, tab.path(), "where it was going")
	tab.requireOnlyVisits(provider.URL)

	tab.awaitTrue(followsTheTables)
	require.Equal(t, http.StatusOK, tab.load(click(logout)))
	require.Contains(t, ask[string](tab, `document.body.innerText`), "The session at")
	require.Equal(t, http.StatusUnauthorized, tab.open("/users/"+buyer))
	tab.takeFaults()

	provider.Claims = map[string]any{"email": "bea@example.com"}
	tab.do(login)
	tab.awaitTrue(`document.querySelector("h1")?.textContent === "You may not look"`)
	tab.requireAccessible()
}

// requireOnlyVisits requires that pages did nothing wrong but to lead to another site.
func (b *tab) requireOnlyVisits(site string) {
	b.t.Helper()
	for _, fault := range b.takeFaults() {
		require.Contains(b.t, fault, "a request to another host: "+site)
	}
}
