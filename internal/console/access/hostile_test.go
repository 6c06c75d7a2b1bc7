package access_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/console/access"
)

func TestHostileRequestsAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status  int
		target  string
		changes []change
	}{
		"a name that leads here":           {http.StatusMisdirectedRequest, "/", []change{to("evil.example:8083")}},
		"no host":                          {http.StatusMisdirectedRequest, "/", []change{to("")}},
		"a user before the host":           {http.StatusMisdirectedRequest, "/", []change{to("evil@localhost")}},
		"a path behind the host":           {http.StatusMisdirectedRequest, "/", []change{to("localhost/evil")}},
		"a longer name":                    {http.StatusMisdirectedRequest, "/", []change{to("localhost.evil.example")}},
		"a name with a dot":                {http.StatusMisdirectedRequest, "/", []change{to("localhost.")}},
		"an address in another form":       {http.StatusMisdirectedRequest, "/", []change{to("127.1")}},
		"an address as a number":           {http.StatusMisdirectedRequest, "/", []change{to("2130706433")}},
		"every address":                    {http.StatusMisdirectedRequest, "/", []change{to("0.0.0.0:8083")}},
		"another port of a known name":     {http.StatusMisdirectedRequest, "/", []change{to("named.example:1")}},
		"a known name, forwarded":          {http.StatusMisdirectedRequest, "/", []change{to("evil.example"), with("X-Forwarded-Host", "localhost")}},
		"a wrong host and the right token": {http.StatusMisdirectedRequest, "/?token=" + token, []change{to("evil.example")}},
		"POST":                             {http.StatusMethodNotAllowed, "/", []change{by(http.MethodPost)}},
		"POST with the token":              {http.StatusMethodNotAllowed, "/?token=" + token, []change{by(http.MethodPost)}},
		"OPTIONS":                          {http.StatusMethodNotAllowed, "/", []change{by(http.MethodOptions)}},
		"another method":                   {http.StatusMethodNotAllowed, "/", []change{by("BREW")}},
		"a method in small letters":        {http.StatusMethodNotAllowed, "/", []change{by("get")}},
		"the form without a token":         {http.StatusUnauthorized, "/login", []change{by(http.MethodPost)}},
		"the token in the form's address":  {http.StatusUnauthorized, "/login?token=" + token, []change{by(http.MethodPost)}},
		"the form with a wrong token":      {http.StatusUnauthorized, "/login", []change{form("token", "wrong", "to", "/")}},
		"the form on another site":         {http.StatusForbidden, "/login", []change{form("token", token), fetched("cross-site", "navigate", "document")}},
		"the form at another address":      {http.StatusMethodNotAllowed, "/", []change{form("token", token)}},
		"the form, too large":              {http.StatusUnauthorized, "/login", []change{form("to", strings.Repeat("x", 16<<10), "token", token)}},
		"POST of another site":             {http.StatusForbidden, "/", []change{by(http.MethodPost), fetched("cross-site", "navigate", "document")}},
		"POST of an old browser":           {http.StatusForbidden, "/", []change{by(http.MethodPost), with("Origin", "http://evil.example")}},
		"an image on another site":         {http.StatusForbidden, "/?token=" + token, []change{fetched("cross-site", "no-cors", "image")}},
		"a script of another port":         {http.StatusForbidden, "/", []change{fetched("same-site", "no-cors", "script")}},
		"a fetch of another site":          {http.StatusForbidden, "/", []change{fetched("cross-site", "cors", "empty")}},
		"a frame on another site":          {http.StatusForbidden, "/", []change{fetched("cross-site", "navigate", "iframe")}},
		"no credentials":                   {http.StatusUnauthorized, "/", nil},
		"no credentials, HEAD":             {http.StatusUnauthorized, "/", []change{by(http.MethodHead)}},
		"an empty token":                   {http.StatusUnauthorized, "/?token=", nil},
		"the beginning of the token":       {http.StatusUnauthorized, "/?token=" + token[:31], nil},
		"more than the token":              {http.StatusUnauthorized, "/?token=" + token + "0", nil},
		"a wrong token before the right":   {http.StatusUnauthorized, "/?token=x&token=" + token, nil},
		"the token on another page":        {http.StatusUnauthorized, "/events?token=" + token, nil},
		"the token by Basic":               {http.StatusUnauthorized, "/", []change{with("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(token+":")))}},
		"the token without a scheme":       {http.StatusUnauthorized, "/", []change{with("Authorization", token)}},
		"an empty Bearer":                  {http.StatusUnauthorized, "/", []change{with("Authorization", "Bearer ")}},
		"the token as a cookie":            {http.StatusUnauthorized, "/", []change{with("Cookie", "payfold-console-8083="+token)}},
		"an empty cookie":                  {http.StatusUnauthorized, "/", []change{with("Cookie", "payfold-console-8083=")}},
		"zeros as a cookie":                {http.StatusUnauthorized, "/", []change{with("Cookie", "payfold-console-8083="+base64.RawURLEncoding.EncodeToString(make([]byte, 64)))}},
		"a proxy's header":                 {http.StatusUnauthorized, "/", []change{with("Remote-User", "root"), with("X-Forwarded-User", "root")}},
		"a login without an issuer":        {http.StatusUnauthorized, "/login", nil},
		"a path with dots":                 {http.StatusUnauthorized, "/static/../events", nil},
		"static, with an escaped slash":    {http.StatusUnauthorized, "/static%2fevents", nil},
		"static, with escaped dots":        {http.StatusUnauthorized, "/static/%2e%2e/events", nil},
		"static, and an escaped way out":   {http.StatusUnauthorized, "/static/..%2fevents", nil},
		"static, under a wrong name":       {http.StatusMisdirectedRequest, "/static/style.css", []change{to("evil.example")}},
		"static, on another site":          {http.StatusForbidden, "/static/style.css", []change{fetched("cross-site", "no-cors", "style")}},
		"a name like static":               {http.StatusUnauthorized, "/statics", nil},
		"a path of another host":           {http.StatusUnauthorized, "//evil.example/", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := setup(t, access.Config{Token: token, Hosts: []string{"named.example:8083"}})
			w.refused(c.status, c.target, c.changes...)
			require.Empty(t, w.ask(c.target, c.changes...).Result().Cookies())
			require.NotContains(t, w.log.String(), token)
		})
	}
}

func TestWhatIsStaticIsForEverybody(t *testing.T) {
	t.Parallel()
	w := setup(t, access.Config{Token: token})
	require.Empty(t, w.viewer("/static/style.css"))
	require.Empty(t, w.viewer("/static/a/b.js", fetched("same-origin", "no-cors", "script")))
}

func TestNamesOfTheConsole(t *testing.T) {
	t.Parallel()
	w := setup(t, access.Config{Token: token, Hosts: []string{"Any.example", "one.example:8083", "192.0.2.7", "2001:db8::7"}, PublicURL: "https://public.example:8443"})
	for _, host := range []string{
		"localhost", "LOCALHOST:1", "127.0.0.1:8083", "127.8.8.8", "[::1]:8083", "[::1]", "any.example", "ANY.example:99",
		"one.example:8083", "192.0.2.7:8083", "[2001:db8::7]:8083", "public.example", "public.example:8443",
	} {
		require.Equal(t, "token", w.viewer("/", to(host), with("Authorization", "Bearer "+token)), host)
	}
}

func TestAForgedSessionIsRefused(t *testing.T) {
	t.Parallel()
	w := setup(t, access.Config{Token: token})
	session := w.session()
	raw, err := base64.RawURLEncoding.DecodeString(session.Value)
	require.NoError(t, err)
	for at := range raw {
		raw[at] ^= 1
		session.Value = base64.RawURLEncoding.EncodeToString(raw)
		w.refused(http.StatusUnauthorized, "/", cookie(session))
		raw[at] ^= 1
	}
	for length := range raw {
		session.Value = base64.RawURLEncoding.EncodeToString(raw[:length])
		w.refused(http.StatusUnauthorized, "/", cookie(session))
	}
	session.Value = base64.RawURLEncoding.EncodeToString(raw)
	require.Equal(t, "token", w.viewer("/", with("Cookie", session.Name+"=forged"), cookie(session)), "a cookie that somebody adds hides no session")
}

func TestARefusalIsAPlainPageOrAProblem(t *testing.T) {
	t.Parallel()
	w := setup(t, access.Config{Token: token})
	out := w.ask("/", with("Accept", "text/html,application/xhtml+xml,application/json;q=0.9"))
	require.Equal(t, "text/html; charset=utf-8", out.Header().Get("Content-Type"))
	require.Equal(t, `Bearer realm="payfold console"`, out.Header().Get("WWW-Authenticate"))
	for _, text := range []string{"<!doctype html>", `<html lang="en">`, "<title>Log in · payfold</title>", "<h1>Log in</h1>"} {
		require.Contains(t, out.Body.String(), text)
	}
	require.NotRegexp(t, `<script|<style| style=| on[a-z]+=`, out.Body.String())

	out = w.ask("/", with("Accept", "application/json"))
	require.Equal(t, "application/problem+json", out.Header().Get("Content-Type"))
	var problem struct {
		Title, Detail string
		Status        int
	}
	require.NoError(t, json.Unmarshal(out.Body.Bytes(), &problem))
	require.Equal(t, "Log in", problem.Title)
	require.NotEmpty(t, problem.Detail)
	require.Equal(t, http.StatusUnauthorized, problem.Status)
	require.Equal(t, "GET, HEAD", w.ask("/", by(http.MethodDelete)).Header().Get("Allow"))
}

func TestTheLinkOfARefusalStaysInTheConsole(t *testing.T) {
	t.Parallel()
	w := setup(t, access.Config{Token: token})
	for target, link := range map[string]string{
		"/events?a=1&b=%22%3E": `href="/events?a=1&amp;b=%22%3E"`,
		"//evil.example/x":     `href="/"`,
		"/%5Cevil.example":     `href="/%5Cevil.example"`,
	} {
		require.Contains(t, w.refused(http.StatusUnauthorized, target, fetched("cross-site", "navigate", "document")), link)
	}
}

func TestASessionOfAnotherPurposeIsNone(t *testing.T) {
	t.Parallel()
	issuer := newIssuer(t)
	w := issuer.console(nil)
	login := onlyCookie(t, w.ask("/login", to(consoleHost)))
	login.Name = "__Host-payfold-console"
	w.refused(http.StatusUnauthorized, "/", to(consoleHost), cookie(login))
}
