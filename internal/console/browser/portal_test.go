package browser

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

func TestPortalShowsPurchasesAndRefundsAndSpends(t *testing.T) {
	p := setupPortal(t)
	tab := p.signIn("u_1")
	p.buy(tab, "Monthly plan")
	pack := p.buy(tab, "100 credits")
	tab.open("/")
	requireBalance(tab, 150)
	require.Contains(t, tab.main(), "Monthly plan\tyes\tactive\t")
	tab.requireAccessible()

	// One form, sent three times, counts once.
	require.Equal(t, []int{200, 200}, ask[[]int](tab, `(() => {
		const form = document.querySelector("form[action='/spend']")
		const send = () => fetch("/spend", {method: "POST", body: new URLSearchParams(new FormData(form))})
		return Promise.all([send(), send()]).then((answers) => answers.map((answer) => answer.status))
	})()`))
	p.spend(tab, "You spent 30 credits.")
	requireBalance(tab, 120)
	tab.load(chromedp.Reload())
	requireBalance(tab, 120)
	for _, left := range []int{90, 60, 30, 0} {
		p.spend(tab, "You spent 30 credits.")
		requireBalance(tab, left)
	}
	p.spend(tab, "There are not enough credits.")
	requireBalance(tab, 0)

	tab.do(chromedp.Evaluate[chromedp.Void](`window.sameDocument = true`))
	history := p.signIn("u_1")
	history.open("/history")
	p.sendStripe(refund(t, pack, 450))
	requireBalance(tab, -50)
	require.True(t, ask[bool](tab, `window.sameDocument`), "it was not loaded again")
	history.awaitTrue(has("€4.50"))
	require.Contains(t, history.main(), "a picture\t-30\t0\n")
	history.requireAccessible()
	tab.requireNoFaults()
	history.requireNoFaults()
	verified := p.projector("verify")
	require.Zero(t, verified.ExitCode, verified.Output)
}

// rereads is how often the open page was read again.
const rereads = `performance.getEntriesByType("resource").filter((e) => e.initiatorType === "fetch").length`

func TestPortalGoesOnThroughAPromotionAndALostDatabase(t *testing.T) {
	p := setupPortal(t)
	tab := p.signIn("u_1")
	event := p.buy(tab, "Source licence")
	tab.open("/licence")
	tab.awaitTrue(has("active\t"))
	require.Contains(t, tab.main(), "for ever\toctocat")
	tab.requireAccessible()
	tab.do(chromedp.Evaluate[chromedp.Void](`window.sameDocument = true`))

	tab.awaitTrue(rereads + ` > 0`) // it listens
	before := ask[int](tab, rereads)
	require.Zero(t, p.projector("rebuild", "--schema", "beside").ExitCode)
	promoted := p.projector("promote", "beside")
	require.Zero(t, promoted.ExitCode, promoted.Output)
	tab.awaitTrue(fmt.Sprintf("%s > %d", rereads, before))
	require.Contains(t, tab.main(), "active\t")
	tab.requireNoFaults()

	other := p.signIn("u_1")
	p.sql("alter role shop nologin")
	p.sql("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'shop'")
	require.Equal(t, http.StatusServiceUnavailable, other.open("/history"))
	require.Contains(t, other.main(), "The shop cannot answer now.")
	p.sendStripe(refund(t, event, 9900)) // nobody hears of it
	p.awaitApplied()
	require.Contains(t, tab.main(), "active\t")
	p.sql("alter role shop login")
	tab.awaitTrue(has("revoked\t"))
	require.True(t, ask[bool](tab, `window.sameDocument`), "it was not loaded again")
	require.Equal(t, http.StatusOK, other.open("/history"))
	require.Contains(t, other.main(), "€99.00\t€99.00")
}

func TestPortalBelievesOnlyItsOwnCookieAndItsOwnForms(t *testing.T) {
	p := setupPortal(t)
	tab := p.signIn("u_1")
	require.Equal(t, http.StatusBadRequest, ask[int](tab,
		`fetch("/spend", {method: "POST", body: new URLSearchParams({key: "mine"})}).then((answer) => answer.status)`))
	require.Empty(t, ask[string](tab, `document.cookie`), "scripts do not see the session")

	client := *p.provider.Client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	answer := func(method, path string, headers ...string) (status int, page string) {
		r, err := http.NewRequestWithContext(t.Context(), method, p.url+path, strings.NewReader("user=u_1&key=x"))
		require.NoError(t, err)
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		got, err := client.Do(r)
		require.NoError(t, err)
		defer got.Body.Close()
		text, err := io.ReadAll(got.Body)
		require.NoError(t, err)
		return got.StatusCode, string(text) + got.Header.Get("Set-Cookie")
	}
	for _, origin := range []string{"", "null", "http://evil.example", p.url + ".evil.example"} {
		status, _ := answer(http.MethodPost, "/sign-in", "Origin", origin)
		require.Equal(t, http.StatusForbidden, status, origin)
	}
	status, page := answer(http.MethodPost, "/sign-in", "Origin", p.url)
	require.Equal(t, http.StatusSeeOther, status)
	require.Contains(t, page, "HttpOnly; SameSite=Lax")
	cookie, _, _ := strings.Cut(page[strings.Index(page, "session="):], ";")
	_, page = answer(http.MethodGet, "/", "Cookie", cookie)
	require.Contains(t, page, "Make a picture")
	text, signature, _ := strings.Cut(strings.TrimPrefix(cookie, "session="), ".")
	other := base64.RawURLEncoding.EncodeToString([]byte(`{"user":"u_2","until":99999999999999}`))
	for _, forged := range []string{
		other + "." + signature, text + "." + strings.Repeat("A", len(signature)), text + ".", other, "",
	} {
		_, page := answer(http.MethodGet, "/history?user=u_1", "Cookie", "session="+forged)
		require.Contains(t, page, "Sign in", forged)
		status, _ := answer(http.MethodGet, "/changes", "Cookie", "session="+forged)
		require.Equal(t, http.StatusNoContent, status, forged)
	}
}

func TestPortalShowsHostileTextsAsTexts(t *testing.T) {
	p := setupPortal(t)
	tab := p.signIn("u_1")
	const hostile = `<img src=x onerror=document.title='taken'> & "`
	status, err := json.Marshal(hostile)
	require.NoError(t, err)
	p.sendStripe(fmt.Sprintf(`{"id": "evt_1", "type": "customer.subscription.updated", "created": %d, "data": {"object": {
		"id": "sub_1", "status": %s, "metadata": {"user_id": "u_1"}, "items": {"data": [{"price": {"id": "price_plan"}}]}}}}`,
		time.Now().Unix(), status))
	tab.awaitTrue(has(hostile))
	tab.load(chromedp.Reload())
	require.Contains(t, tab.main(), hostile)
	require.Equal(t, "Account", ask[string](tab, `document.title`))
	tab.requireNoFaults()
}

// The example stays short enough to be read at once.
func TestPortalHasAtMost300Lines(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(repository, "examples/portal/*"))
	require.NoError(t, err)
	counted, lines := 0, 0
	for _, file := range files {
		if slices.Contains([]string{".mjs", ".js", ".html", ".css", ".sql"}, filepath.Ext(file)) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			counted, lines = counted+1, lines+bytes.Count(text, []byte("\n"))
		}
	}
	require.Positive(t, counted)
	require.LessOrEqual(t, lines, 300)
}
