package access_test

import (
	"crypto/tls"
	"encoding/base64"
	"html"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/console/access"
)

func TestTheLinkBeginsASession(t *testing.T) {
	t.Parallel()
	w := setup(t, access.Config{Token: token})
	out := w.ask("/?token=" + token)
	require.Equal(t, http.StatusSeeOther, out.Code)
	require.Equal(t, "/", out.Header().Get("Location"))
	session := onlyCookie(t, out)
	require.True(t, session.HttpOnly)
	require.Equal(t, http.SameSiteStrictMode, session.SameSite)
	require.Equal(t, "/", session.Path)
	require.False(t, session.Secure)
	require.Zero(t, session.MaxAge)
	require.Equal(t, "token", w.viewer("/events?type=a", cookie(session)))
}

func TestTheTokenIsEnteredInAForm(t *testing.T) {
	t.Parallel()
	w := setup(t, access.Config{Token: token})
	for _, page := range []string{"/events?type=a&outcome=b", "/", "/users/u_1"} {
		answer := w.refused(http.StatusUnauthorized, page)
		require.Contains(t, answer, `<form method="post" action="/login">`)
		require.Contains(t, answer, `name="to" value="`+html.EscapeString(page)+`"`)
		require.Contains(t, w.refused(http.StatusUnauthorized, "/login", form("token", "wrong", "to", page)), `value="`+html.EscapeString(page)+`"`)

		out := w.ask("/login", form("token", token, "to", page))
		require.Equal(t, http.StatusSeeOther, out.Code)
		require.Equal(t, page, out.Header().Get("Location"))
		require.Equal(t, "token", w.viewer(page, cookie(onlyCookie(t, out))))
	}
	for _, away := range []string{"https://evil.example/", "//evil.example", "/\\evil.example", ""} {
		require.Equal(t, "/", w.ask("/login", form("token", token, "to", away)).Header().Get("Location"), away)
	}
	require.Contains(t, w.refused(http.StatusUnauthorized, "/login"), `name="to" value="/"`)
}

func TestBesideAProxyTheFormIsForTheMachineItself(t *testing.T) {
	t.Parallel()
	w := setup(t, access.Config{Token: token, ProxyHeader: "X-User", TrustedProxies: []string{"10.0.0.7"}})
	enter := form("token", token, "to", "/")
	require.Equal(t, http.StatusSeeOther, w.ask("/login", enter).Code)
	w.refused(http.StatusMethodNotAllowed, "/login", enter, from("10.0.0.9:50000"))
	w.refused(http.StatusMethodNotAllowed, "/login", enter, from("10.0.0.7:50000"), with("X-User", "anna"))
	setup(t, access.Config{ProxyHeader: "X-User", TrustedProxies: []string{"10.0.0.7"}}).refused(http.StatusMethodNotAllowed, "/login", enter)
}

func TestTheCookieDoesNotContainTheToken(t *testing.T) {
	t.Parallel()
	session := setup(t, access.Config{Token: token}).session()
	raw, err := base64.RawURLEncoding.DecodeString(session.Value)
	require.NoError(t, err)
	require.NotContains(t, string(raw), token)
	require.NotContains(t, session.Value, token)
}

func TestATokenIsMadeWhereNothingElseSaysWhoMayLook(t *testing.T) {
	t.Parallel()
	w := setup(t, access.Config{})
	address, made, ok := strings.Cut(w.guard.Link("http://"+listen), "/?token=")
	require.True(t, ok)
	require.Equal(t, "http://"+listen, address)
	require.Len(t, made, 26)
	require.Equal(t, http.StatusSeeOther, w.ask("/?token="+made).Code)
	require.NotEqual(t, w.guard.Link("http://x"), setup(t, access.Config{}).guard.Link("http://x"))
}

func TestTheLinkLeadsToTheConsole(t *testing.T) {
	t.Parallel()
	direct := setup(t, access.Config{Token: token}).guard
	require.Equal(t, "http://"+listen+"/", direct.Link("http://"+listen), "a configured token is not printed")
	require.Equal(t, "http://localhost:8083/", direct.Link("http://0.0.0.0:8083"))
	require.Equal(t, "http://localhost:8083/", direct.Link("http://[::]:8083"))
	require.Equal(t, "http://[::1]:8083/", direct.Link("http://[::1]:8083"))
	require.Regexp(t, `^https://console.example.com/\?token=\w{26}$`, setup(t, access.Config{PublicURL: "https://Console.example.com"}).guard.Link("http://"+listen))
}

func TestASessionEnds(t *testing.T) {
	t.Parallel()
	w := setup(t, access.Config{Token: token})
	session := w.session()
	w.clock.Advance(8*time.Hour - time.Second)
	began := time.Now()
	require.Equal(t, "token", w.viewer("/", cookie(session)))
	deadline, ok := w.seen.Context().Deadline()
	require.True(t, ok, "a page that stays open ends with the session")
	require.WithinRange(t, deadline, began.Add(time.Second), time.Now().Add(time.Second))
	w.clock.Advance(time.Second)
	w.refused(http.StatusUnauthorized, "/", cookie(session))
}

func TestASessionEndsWithTheProcess(t *testing.T) {
	t.Parallel()
	session := setup(t, access.Config{Token: token}).session()
	setup(t, access.Config{Token: token}).refused(http.StatusUnauthorized, "/", cookie(session))
}

func TestOverTLSTheCookieStaysThere(t *testing.T) {
	t.Parallel()
	w := setup(t, access.Config{Token: token, PublicURL: "https://console.example.com"})
	session := w.session(to("console.example.com"))
	require.True(t, session.Secure)
	require.Equal(t, "__Host-payfold-console", session.Name)
	require.Equal(t, "token", w.viewer("/", to("console.example.com"), cookie(session)))
	require.False(t, w.session().Secure, "a tunnel to the machine has no TLS")
	require.True(t, w.session(func(r *http.Request) { r.TLS = &tls.ConnectionState{} }).Secure)
}

func TestConsolesOnTwoPortsHaveTwoCookies(t *testing.T) {
	t.Parallel()
	w := setup(t, access.Config{Token: token})
	require.NotEqual(t, w.session(to("localhost:8083")).Name, w.session(to("localhost:9083")).Name)
}

func TestAScriptSendsTheTokenWithEachRequest(t *testing.T) {
	t.Parallel()
	w := setup(t, access.Config{Token: token})
	out := w.ask("/events", with("Authorization", "bearer "+token))
	require.Equal(t, http.StatusOK, out.Code)
	require.Empty(t, out.Result().Cookies())
	require.Equal(t, "token", access.Viewer(w.seen.Context()))
	require.Empty(t, w.seen.Header.Get("Authorization"), "the pages do not get the token")
}

func TestCredentialsOfAProxyHideNoSession(t *testing.T) {
	t.Parallel()
	w := setup(t, access.Config{Token: token})
	session := w.session()
	for _, header := range []string{"Basic YTpi", "Bearer of-the-proxy"} {
		require.Equal(t, "token", w.viewer("/", cookie(session), with("Authorization", header)))
		require.Empty(t, w.seen.Header.Get("Authorization"))
	}
}

func TestTheFirstClickWorksFromEverywhere(t *testing.T) {
	t.Parallel()
	for _, site := range []string{addressBar, otherSite, samePage} {
		b := setup(t, access.Config{Token: token}).browser(listen)
		out, address := b.open("http://"+listen+"/?token="+token, site)
		require.Equal(t, "seen by token", body(t, out), site)
		require.Equal(t, "http://"+listen+"/", address)
	}
}

func TestALinkOnAnotherSiteLeadsThroughOneClick(t *testing.T) {
	t.Parallel()
	b := setup(t, access.Config{Token: token}).browser(listen)
	b.open("http://"+listen+"/?token="+token, addressBar)
	out, _ := b.open("http://"+listen+"/events/evt_1?schema=a", otherSite)
	require.Equal(t, http.StatusUnauthorized, out.StatusCode)
	require.Contains(t, body(t, out), `<a href="/events/evt_1?schema=a">Continue</a>`)
	out, _ = b.open("http://"+listen+"/events/evt_1?schema=a", samePage)
	require.Equal(t, "seen by token", body(t, out))
}

func TestFailedAttemptsAreLimitedAndKeepNobodyOut(t *testing.T) {
	t.Parallel()
	w := setup(t, access.Config{Token: token})
	session := w.session()
	for range 10 {
		w.refused(http.StatusUnauthorized, "/?token=wrong")
	}
	for range 100 {
		out := w.ask("/events", with("Authorization", "Bearer wrong"))
		require.Equal(t, http.StatusTooManyRequests, out.Code)
		require.Equal(t, "6", out.Header().Get("Retry-After"))
	}
	require.Equal(t, 10, w.log.count("a login to the console failed"))
	require.Equal(t, "token", w.viewer("/", cookie(session)))
	require.Equal(t, "token", w.viewer("/", with("Authorization", "Bearer "+token)))
	w.session()
	w.refused(http.StatusUnauthorized, "/")

	w.clock.Advance(6 * time.Second)
	w.refused(http.StatusUnauthorized, "/?token=wrong")
	require.Contains(t, w.log.String(), "unlogged_before=100")
}

func TestAFailedAttemptIsLoggedWithoutTheToken(t *testing.T) {
	t.Parallel()
	w := setup(t, access.Config{Token: token})
	w.refused(http.StatusUnauthorized, "/?token=almost-"+token)
	w.refused(http.StatusUnauthorized, "/", with("Authorization", "Bearer almost-"+token))
	w.session()
	require.Equal(t, 2, w.log.count(`level=WARN msg="a login to the console failed" peer=127.0.0.1 error="wrong token"`))
	require.Equal(t, 1, w.log.count(`level=INFO msg="somebody logged in to the console" viewer=token peer=127.0.0.1`))
	require.NotContains(t, w.log.String(), token)
}

func TestALogoutEndsOneSession(t *testing.T) {
	t.Parallel()
	w := setup(t, access.Config{Token: token})
	mine, other := w.session(), w.session()
	require.True(t, w.hasSession(cookie(mine)))
	require.False(t, w.hasSession(with("Authorization", "Bearer "+token)), "a script has none")

	w.refused(http.StatusForbidden, "/logout", by(http.MethodPost), cookie(mine), fetched("cross-site", "navigate", "document"))
	w.refused(http.StatusForbidden, "/logout", by(http.MethodPost), cookie(mine), with("Origin", "http://evil.example"))
	require.Equal(t, "token", w.viewer("/", cookie(mine)), "no other site can log somebody out")

	out := w.ask("/logout", by(http.MethodPost), cookie(mine), fetched("same-origin", "navigate", "document"))
	require.Equal(t, http.StatusOK, out.Code)
	require.Contains(t, out.Body.String(), "You are logged out")
	require.Negative(t, onlyCookie(t, out).MaxAge)
	w.refused(http.StatusUnauthorized, "/", cookie(mine))
	require.Equal(t, "token", w.viewer("/", cookie(other)))
	require.Equal(t, 1, w.log.count(`msg="somebody logged out of the console" viewer=token`))
	require.Equal(t, http.StatusOK, w.ask("/logout", by(http.MethodPost)).Code, "without a session")
	require.Equal(t, 1, w.log.count("logged out"))
	w.ask("/logout", by(http.MethodPost), cookie(other))
	w.refused(http.StatusUnauthorized, "/", cookie(mine))
}

// hasSession reports whether the page may offer to log out.
func (w *world) hasSession(changes ...change) bool {
	w.t.Helper()
	w.viewer("/", changes...)
	return w.guard.HasSession(w.seen.Context())
}

func TestAUserOfAProxyCannotLogOutHere(t *testing.T) {
	t.Parallel()
	w := setup(t, access.Config{ProxyHeader: "X-User", TrustedProxies: []string{"127.0.0.1"}})
	require.False(t, w.hasSession(with("X-User", "anna")))
	w.refused(http.StatusMethodNotAllowed, "/logout", by(http.MethodPost), with("X-User", "anna"))
}
