package access_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/payfold/payfold/internal/console/access"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/wait"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	token  = "0123456789abcdef0123456789abcdef"
	listen = "127.0.0.1:8083"
)

// world is a guarded page that says who looks.
type world struct {
	t       *testing.T
	clock   *testenv.Clock
	guard   *access.Guard
	handler http.Handler
	seen    *http.Request // by the page, most recently
	log     *logBuffer
}

func setup(t *testing.T, config access.Config) *world {
	t.Helper()
	w := &world{t: t, clock: testenv.NewClock(), log: &logBuffer{}}
	config.Now = w.clock.Now
	var err error
	w.guard, err = access.New(t.Context(), config, slog.New(slog.NewTextHandler(w.log, nil)))
	require.NoError(t, err)
	w.handler = w.guard.Protect(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		w.seen = r
		_, _ = io.WriteString(out, "seen by "+access.Viewer(r.Context()))
	}))
	return w
}

// change makes a request another one.
type change func(*http.Request)

func from(peer string) change           { return func(r *http.Request) { r.RemoteAddr = peer } }
func to(host string) change             { return func(r *http.Request) { r.Host = host } }
func by(method string) change           { return func(r *http.Request) { r.Method = method } }
func with(name, value string) change    { return func(r *http.Request) { r.Header.Add(name, value) } }
func cookie(cookie *http.Cookie) change { return func(r *http.Request) { r.AddCookie(cookie) } }

// form posts a form with names and values.
func form(pairs ...string) change {
	values := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		values.Set(pairs[i], pairs[i+1])
	}
	return func(r *http.Request) {
		r.Method = http.MethodPost
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Body = io.NopCloser(strings.NewReader(values.Encode()))
	}
}

// hungUp is a request whose sender has gone.
func hungUp(r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	cancel()
	*r = *r.WithContext(ctx)
}

// fetched has the headers of a browser's fetch metadata.
func fetched(site, mode, dest string) change {
	return func(r *http.Request) {
		r.Header.Set("Sec-Fetch-Site", site)
		r.Header.Set("Sec-Fetch-Mode", mode)
		r.Header.Set("Sec-Fetch-Dest", dest)
	}
}

// ask sends a request from the machine itself.
func (w *world) ask(target string, changes ...change) *httptest.ResponseRecorder {
	w.t.Helper()
	r := httptest.NewRequestWithContext(w.t.Context(), http.MethodGet, "http://"+listen+target, nil)
	r.RemoteAddr = "127.0.0.1:50000"
	for _, change := range changes {
		change(r)
	}
	w.seen = nil
	out := httptest.NewRecorder()
	w.handler.ServeHTTP(out, r)
	return out
}

// viewer returns who looked; it fails the test if the page was not shown.
func (w *world) viewer(target string, changes ...change) string {
	w.t.Helper()
	out := w.ask(target, changes...)
	require.Equal(w.t, http.StatusOK, out.Code, out.Body)
	require.NotNil(w.t, w.seen, out.Body)
	return access.Viewer(w.seen.Context())
}

// refused returns the answer's text; it fails the test if the page was shown.
func (w *world) refused(status int, target string, changes ...change) string {
	w.t.Helper()
	out := w.ask(target, changes...)
	require.Equal(w.t, status, out.Code, out.Body)
	require.Nil(w.t, w.seen)
	return out.Body.String()
}

// session logs in with the token and returns the cookie.
func (w *world) session(changes ...change) *http.Cookie {
	w.t.Helper()
	out := w.ask("/?token="+token, changes...)
	require.Equal(w.t, http.StatusSeeOther, out.Code, out.Body)
	return onlyCookie(w.t, out)
}

func onlyCookie(t *testing.T, out *httptest.ResponseRecorder) *http.Cookie {
	t.Helper()
	cookies := out.Result().Cookies()
	require.Len(t, cookies, 1)
	return cookies[0]
}

// logBuffer is a log that is read meanwhile.
type logBuffer struct{ wait.Buffer }

func (l *logBuffer) count(text string) int { return strings.Count(l.String(), text) }

// browser keeps cookies, follows redirects and refreshes, and withholds cookies from other sites
// as browsers do: a redirect, or a chain of them, counts as sent by the site where it began.
type browser struct {
	*world
	cookies map[string]*http.Cookie
	console string // its host; every other host is another site
	client  *http.Client
}

func (w *world) browser(console string) *browser {
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	w.t.Cleanup(client.CloseIdleConnections)
	return &browser{world: w, cookies: map[string]*http.Cookie{}, console: console, client: client}
}

// The sites from which a navigation can begin.
const (
	addressBar = "none"
	otherSite  = "cross-site"
	samePage   = "same-origin"
)

// open navigates, and returns the last answer and its address.
func (b *browser) open(address, site string) (*http.Response, string) {
	b.t.Helper()
	for range 10 {
		u, err := url.Parse(address)
		require.NoError(b.t, err)
		out := b.fetch(u, site)
		if refresh := out.Header.Get("Refresh"); refresh != "" {
			next, ok := strings.CutPrefix(refresh, "0;url=")
			require.True(b.t, ok)
			to, err := u.Parse(next)
			require.NoError(b.t, err)
			address, site = to.String(), samePage // the page itself begins it
			continue
		}
		if out.StatusCode != http.StatusSeeOther && out.StatusCode != http.StatusFound {
			return out, address
		}
		next, err := u.Parse(out.Header.Get("Location"))
		require.NoError(b.t, err)
		if next.Host != u.Host && site != addressBar {
			site = otherSite
		}
		address = next.String()
	}
	require.Fail(b.t, "too many redirects", address)
	return nil, ""
}

func (b *browser) fetch(u *url.URL, site string) *http.Response {
	b.t.Helper()
	if u.Host != b.console {
		out, err := b.client.Get(u.String())
		require.NoError(b.t, err)
		require.NoError(b.t, out.Body.Close())
		return out
	}
	changes := []change{to(u.Host), fetched(site, "navigate", "document")}
	for _, c := range b.cookies {
		if site != otherSite || c.SameSite == http.SameSiteLaxMode {
			changes = append(changes, cookie(c))
		}
	}
	out := b.ask(u.RequestURI(), changes...).Result()
	for _, c := range out.Cookies() {
		if c.MaxAge < 0 {
			delete(b.cookies, c.Name)
		} else {
			b.cookies[c.Name] = c
		}
	}
	return out
}

func body(t *testing.T, out *http.Response) string {
	t.Helper()
	text, err := io.ReadAll(out.Body)
	require.NoError(t, err)
	return string(text)
}
