package access_test

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/console/access"
	issuers "github.com/payfold/payfold/internal/testenv/issuer"
)

// login opens a page, and clicks on what its refusal offers.
func (b *browser) login(page string) (*http.Response, string) {
	b.t.Helper()
	out, _ := b.open(consoleURL+page, addressBar)
	require.Equal(b.t, http.StatusUnauthorized, out.StatusCode)
	require.Contains(b.t, body(b.t, out), `<a href="/login?to=`)
	return b.open(consoleURL+"/login?to="+url.QueryEscape(page), samePage)
}

func TestPeopleLogInAtTheIssuer(t *testing.T) {
	t.Parallel()
	for name, sign := range map[string]func(*issuer) func(map[string]any) string{
		"RSA":            func(i *issuer) func(map[string]any) string { return i.Sign },
		"elliptic curve": func(i *issuer) func(map[string]any) string { return i.ES256 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			issuer := newIssuer(t)
			issuer.Sign = sign(issuer)
			w := issuer.console(nil)
			b := w.browser(consoleHost)
			out, address := b.login("/events?type=a")
			require.Equal(t, "seen by Anna@example.com", body(t, out))
			require.Equal(t, consoleURL+"/events?type=a", address)
			require.Len(t, b.cookies, 1, "the cookie of the login is gone")
			session := b.cookies["__Host-payfold-console"]
			require.True(t, session.Secure)
			require.True(t, session.HttpOnly)
			require.Equal(t, http.SameSiteStrictMode, session.SameSite)
			require.Equal(t, 1, w.log.count(`msg="somebody logged in to the console" viewer=Anna@example.com`))
		})
	}
}

// An issuer may spend a code with the first request that names it, so the console must ask in the right way at once.
func TestTheConsoleProvesWhoItIsAsTheIssuerWantsIt(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"client_secret_basic", "client_secret_post", "none"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			issuer := newIssuer(t)
			if method != "client_secret_basic" {
				issuer.Method = method
			}
			w := issuer.console(nil)
			out, _ := w.browser(consoleHost).login("/")
			require.Equal(t, "seen by Anna@example.com", body(t, out))
		})
	}
}

func TestASessionEndsWithTheIDToken(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ vouched, session time.Duration }{
		"before the day's work": {time.Hour, time.Hour},
		"after it":              {100 * time.Hour, 8 * time.Hour},
	} {
		issuer := newIssuer(t)
		w := issuer.console(nil)
		issuer.Claims = map[string]any{"exp": w.clock.Now().Add(c.vouched).Unix()}
		b := w.browser(consoleHost)
		b.login("/")
		w.clock.Advance(c.session - time.Second)
		out, _ := b.open(consoleURL+"/", addressBar)
		require.Equal(t, http.StatusOK, out.StatusCode, name)
		w.clock.Advance(time.Second)
		out, _ = b.open(consoleURL+"/", addressBar)
		require.Equal(t, http.StatusUnauthorized, out.StatusCode, name)
	}
}

func TestAnEMailAddressIsShownOnlyIfItIsVerified(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		claims map[string]any
		viewer string
	}{
		"verified":            {nil, "Anna@example.com"},
		"verified, as a text": {map[string]any{"email_verified": "true"}, "Anna@example.com"},
		"not verified":        {map[string]any{"email_verified": false}, "subject-1"},
		"nothing said":        {map[string]any{"email_verified": nil}, "subject-1"},
		"no address":          {map[string]any{"email": nil}, "subject-1"},
		"no name":             {map[string]any{"email": "a\u202eb@example.com"}, "subject-1"},
	} {
		issuer := newIssuer(t)
		issuer.Claims = c.claims
		out, _ := issuer.console(nil).browser(consoleHost).login("/")
		require.Equal(t, "seen by "+c.viewer, body(t, out), name)
	}
}

func TestAnEMailAddressThatTheIDTokenLacksIsAskedFor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		info   map[string]any
		claims map[string]any
		shown  string
	}{
		"verified":             {map[string]any{"sub": "subject-1", "email": "bea@example.com", "email_verified": true}, map[string]any{"email": nil}, "seen by bea@example.com"},
		"not verified":         {map[string]any{"sub": "subject-1", "email": "bea@example.com"}, map[string]any{"email": nil}, "seen by subject-1"},
		"somebody else's":      {map[string]any{"sub": "subject-2", "email": "bea@example.com", "email_verified": true}, map[string]any{"email": nil}, "The login failed"},
		"not to be read":       {map[string]any{"sub": 1}, map[string]any{"email": nil}, "The login failed"},
		"the ID token has one": {map[string]any{"sub": "subject-1", "email": "bea@example.com", "email_verified": true}, nil, "seen by Anna@example.com"},
	} {
		issuer := newIssuer(t)
		issuer.Info, issuer.Claims = c.info, c.claims
		out, _ := issuer.console(nil).browser(consoleHost).login("/")
		require.Contains(t, body(t, out), c.shown, name)
	}
}

func TestOnlyThoseMayLookWhoAreAllowed(t *testing.T) {
	t.Parallel()
	allowed := []string{"anna@example.com", "@Shop.example"}
	for email, status := range map[string]int{
		"anna@example.com":              http.StatusOK,
		"ANNA@EXAMPLE.COM":              http.StatusOK,
		"bea@shop.example":              http.StatusOK,
		"bea@example.com":               http.StatusForbidden,
		"joanna@example.com":            http.StatusForbidden,
		"bea@sub.shop.example":          http.StatusForbidden,
		"bea@evilshop.example":          http.StatusForbidden,
		"bea@shop.example@evil.example": http.StatusForbidden,
		"@shop.example":                 http.StatusForbidden,
		"bea@\u017fhop.example":         http.StatusForbidden, // its letter is an s in small letters
		"shop.example":                  http.StatusForbidden,
		"":                              http.StatusForbidden,
	} {
		issuer := newIssuer(t)
		issuer.Claims = map[string]any{"email": email}
		out, _ := issuer.console(allowed).browser(consoleHost).login("/")
		require.Equal(t, status, out.StatusCode, email)
	}
	issuer := newIssuer(t)
	issuer.Claims = map[string]any{"email_verified": false}
	out, _ := issuer.console(allowed).browser(consoleHost).login("/")
	require.Equal(t, http.StatusForbidden, out.StatusCode, "not verified")
}

func TestAnIDTokenThatIsNotForThisLoginIsRefused(t *testing.T) {
	t.Parallel()
	for name, forge := range map[string]func(*issuer, *world){
		"wrong nonce":    func(i *issuer, _ *world) { i.Claims = map[string]any{"nonce": "another"} },
		"no nonce":       func(i *issuer, _ *world) { i.Claims = map[string]any{"nonce": nil} },
		"wrong audience": func(i *issuer, _ *world) { i.Claims = map[string]any{"aud": "another"} },
		"no audience":    func(i *issuer, _ *world) { i.Claims = map[string]any{"aud": []string{}} },
		"another party": func(i *issuer, _ *world) {
			i.Claims = map[string]any{"aud": []string{issuers.ClientID, "another"}, "azp": "another"}
		},
		"wrong issuer":     func(i *issuer, _ *world) { i.Claims = map[string]any{"iss": "https://evil.example"} },
		"expired":          func(i *issuer, w *world) { i.Claims = map[string]any{"exp": w.clock.Now().Add(-time.Second).Unix()} },
		"no expiry":        func(i *issuer, _ *world) { i.Claims = map[string]any{"exp": nil} },
		"not yet valid":    func(i *issuer, w *world) { i.Claims = map[string]any{"nbf": w.clock.Now().Add(time.Hour).Unix()} },
		"nobody":           func(i *issuer, _ *world) { i.Claims = map[string]any{"sub": "", "email": ""} },
		"claims of a list": func(i *issuer, _ *world) { i.Claims = map[string]any{"email": []string{"a@example.com"}} },
		"no algorithm": func(i *issuer, _ *world) {
			i.Sign = func(claims map[string]any) string { return i.Unsigned("none", "rsa", claims) + "." }
		},
		"a foreign key": func(i *issuer, _ *world) {
			foreign, err := rsa.GenerateKey(rand.Reader, 2048)
			require.NoError(i.t, err)
			i.Sign = func(claims map[string]any) string { return i.RS256(foreign, claims) }
		},
		"the public key as a secret": func(i *issuer, _ *world) {
			i.Sign = func(claims map[string]any) string {
				text := i.Unsigned("HS256", "rsa", claims)
				mac := hmac.New(sha256.New, x509.MarshalPKCS1PublicKey(&i.Key.PublicKey))
				mac.Write([]byte(text))
				return text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
			}
		},
		"other claims under the signature": func(i *issuer, _ *world) {
			i.Sign = func(claims map[string]any) string {
				signed := i.RS256(i.Key, claims)
				other := maps.Clone(claims)
				other["sub"] = "root"
				return i.Unsigned("RS256", "rsa", other) + signed[len(i.Unsigned("RS256", "rsa", claims)):]
			}
		},
		"no ID token": func(i *issuer, _ *world) { i.Sign = func(map[string]any) string { return "" } },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			issuer := newIssuer(t)
			w := issuer.console(nil)
			forge(issuer, w)
			b := w.browser(consoleHost)
			out, _ := b.login("/")
			require.Equal(t, http.StatusUnauthorized, out.StatusCode)
			require.Contains(t, body(t, out), "The login failed")
			require.Empty(t, b.cookies)
			require.Equal(t, 1, w.log.count("a login to the console failed"), w.log)
		})
	}
}

// callback returns where the issuer sends a browser that has begun a login.
func (b *browser) callback() *url.URL {
	b.t.Helper()
	start := b.fetch(mustParse(b.t, consoleURL+"/login"), samePage)
	require.Equal(b.t, http.StatusSeeOther, start.StatusCode)
	back := b.fetch(mustParse(b.t, start.Header.Get("Location")), otherSite)
	require.Equal(b.t, http.StatusFound, back.StatusCode)
	return mustParse(b.t, back.Header.Get("Location"))
}

func mustParse(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	require.NoError(t, err)
	return u
}

func TestALoginIsUsedOnceAndByTheBrowserThatBeganIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reason string
		attack func(w *world, b *browser, callback *url.URL) *http.Response
	}{
		"the same answer again": {"the browser has begun no login", func(_ *world, b *browser, callback *url.URL) *http.Response {
			b.fetch(callback, otherSite)
			delete(b.cookies, "__Host-payfold-console")
			return b.fetch(callback, otherSite)
		}},
		"with its cookie": {"the login was used before", func(_ *world, b *browser, callback *url.URL) *http.Response {
			kept := b.cookies["__Host-payfold-login"]
			b.fetch(callback, otherSite)
			delete(b.cookies, "__Host-payfold-console")
			b.cookies[kept.Name] = kept
			return b.fetch(callback, otherSite)
		}},
		"another browser": {"the browser has begun no login", func(w *world, _ *browser, callback *url.URL) *http.Response {
			return w.browser(consoleHost).fetch(callback, otherSite)
		}},
		"another browser with a login of its own": {"the state is not that of the browser's login", func(w *world, _ *browser, callback *url.URL) *http.Response {
			other := w.browser(consoleHost)
			other.callback()
			return other.fetch(callback, otherSite)
		}},
		"the code of another login": {"invalid_grant", func(w *world, b *browser, callback *url.URL) *http.Response {
			query := callback.Query()
			query.Set("code", w.browser(consoleHost).callback().Query().Get("code"))
			callback.RawQuery = query.Encode()
			return b.fetch(callback, otherSite)
		}},
		"no state": {"the state is not that of the browser's login", func(_ *world, b *browser, callback *url.URL) *http.Response {
			callback.RawQuery = url.Values{"code": {callback.Query().Get("code")}}.Encode()
			return b.fetch(callback, otherSite)
		}},
		"too late": {"the browser has begun no login", func(w *world, b *browser, callback *url.URL) *http.Response {
			w.clock.Advance(10 * time.Minute)
			return b.fetch(callback, otherSite)
		}},
		"a session as the login's cookie": {"the browser has begun no login", func(_ *world, b *browser, callback *url.URL) *http.Response {
			b.fetch(callback, otherSite)
			session := *b.cookies["__Host-payfold-console"]
			session.Name, session.SameSite = "__Host-payfold-login", http.SameSiteLaxMode
			b.cookies = map[string]*http.Cookie{session.Name: &session}
			return b.fetch(callback, otherSite)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newIssuer(t).console(nil)
			b := w.browser(consoleHost)
			callback := b.callback()
			code := callback.Query().Get("code")
			out := c.attack(w, b, callback)
			require.Equal(t, http.StatusUnauthorized, out.StatusCode)
			require.NotContains(t, b.cookies, "__Host-payfold-console")
			require.Contains(t, w.log.String(), c.reason)
			require.NotContains(t, w.log.String(), code)
			require.NotContains(t, w.log.String(), "the code of somebody")
			require.NotContains(t, w.log.String(), issuers.ClientSecret)
		})
	}
}

func TestTheIssuersRefusalIsLogged(t *testing.T) {
	t.Parallel()
	issuer := newIssuer(t)
	issuer.Refusal = "access_denied\n<b>"
	w := issuer.console(nil)
	out, _ := w.browser(consoleHost).login("/")
	require.Equal(t, http.StatusUnauthorized, out.StatusCode)
	require.NotContains(t, body(t, out), "<b>")
	require.Equal(t, 1, w.log.count("\n"), "one line: "+w.log.String())
}

func TestALoginLeadsNowhereElse(t *testing.T) {
	t.Parallel()
	for _, page := range []string{"https://evil.example/", "//evil.example/", "///evil.example/", `/\evil.example/`, "/\t/evil.example", "javascript:alert(1)", "evil", "", "/a\r\nSet-Cookie: a=b", "/" + strings.Repeat("a", 5000)} {
		b := newIssuer(t).console(nil).browser(consoleHost)
		out, address := b.open(consoleURL+"/login?to="+url.QueryEscape(page), samePage)
		require.Equal(t, http.StatusOK, out.StatusCode)
		require.Equal(t, consoleURL+"/", address, page)
	}
}

func TestTheConsoleStartsWhileTheIssuerIsAway(t *testing.T) {
	t.Parallel()
	issuer := newIssuer(t)
	issuer.Away = true
	w := issuer.console(nil)
	require.Equal(t, 1, w.log.count(`level=WARN msg="the issuer does not answer; it is asked again when somebody logs in"`))
	for range 20 {
		require.Contains(t, w.refused(http.StatusServiceUnavailable, "/login", to(consoleHost)), "The issuer does not answer")
	}
	require.Equal(t, 1, issuer.Asked, "not at each login")
	w.clock.Advance(time.Second)
	w.refused(http.StatusServiceUnavailable, "/login", to(consoleHost))
	require.Equal(t, 2, issuer.Asked)

	issuer.Meanwhile = func() { w.clock.Advance(5 * time.Second) }
	w.clock.Advance(time.Second)
	w.refused(http.StatusServiceUnavailable, "/login", to(consoleHost))
	w.refused(http.StatusServiceUnavailable, "/login", to(consoleHost))
	require.Equal(t, 3, issuer.Asked, "those who waited for a slow answer do not ask again")

	issuer.Away = false
	w.clock.Advance(time.Second)
	require.Equal(t, http.StatusSeeOther, w.ask("/login", to(consoleHost), hungUp).Code, "nor does somebody who hangs up end the question")
	out, _ := w.browser(consoleHost).login("/")
	require.Equal(t, "seen by Anna@example.com", body(t, out))
}

func TestTheConsoleDoesNotWaitForAnIssuerThatIsSilent(t *testing.T) {
	t.Parallel()
	issuer, silent := newIssuer(t), make(chan struct{})
	defer close(silent)
	issuer.Meanwhile = func() { <-silent }
	w := issuer.console(nil)
	require.Equal(t, 1, w.log.count("the issuer does not answer; it is asked again when somebody logs in"))
}

func TestWithAnIssuerATokenWorksOnlyIfItIsConfigured(t *testing.T) {
	t.Parallel()
	issuer := newIssuer(t)
	w := issuer.console(nil)
	require.Equal(t, consoleURL+"/", w.guard.Link("http://x"))
	for _, changes := range [][]change{nil, {with("Authorization", "Bearer ")}} {
		w.refused(http.StatusUnauthorized, "/?token=", changes...)
	}
	w = setup(t, access.Config{Token: token, PublicURL: consoleURL, OIDC: access.OIDC{Issuer: issuer.URL, ClientID: issuers.ClientID}})
	require.Equal(t, "token", w.viewer("/", with("Authorization", "Bearer "+token)))
}
