package browser

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv"
)

func TestSomebodyFollowsAnEventToTheBalanceOfItsCustomer(t *testing.T) {
	w := setup(t)
	w.deliver(shop()...)
	for _, scripts := range []bool{true, false} {
		tab := w.console.newTab(t)
		if !scripts {
			tab.disableScripts()
		}
		tab.open("/events")
		tab.search("evt_refund")
		require.Equal(t, "/events/evt_refund", tab.path())
		require.Contains(t, tab.main(), "took back 100 credits")
		require.Contains(t, tab.main(), "it is that of this body", "the signature")
		require.Equal(t, http.StatusOK, tab.follow(buyer))
		require.Equal(t, "/users/"+buyer, tab.path())
		require.Contains(t, tab.main(), "Balance 100 = 200 granted − 100 reversed")
		require.Equal(t, http.StatusOK, tab.follow(packPayment))
		require.Equal(t, "/payments/"+packPayment, tab.path())
		require.Contains(t, tab.main(), "EUR 24.50")
		tab.requireNoFaults()
	}
}

func TestEveryNameLeadsToItsPage(t *testing.T) {
	w := setup(t)
	w.deliver(shop()...)
	tab := w.console.newTab(t)
	for name, heading := range map[string]string{
		packEvent: "Event " + packEvent, buyer: "Customer " + buyer, hostilePayment: "Payment " + hostilePayment,
		hostileUser: "Customer " + hostileUser, "evt_nobody_knows": "Search", "pay_month_0": "Payment pay_month_0",
	} {
		require.Equal(t, http.StatusOK, tab.open("/search?q="+url.QueryEscape(name)), name)
		require.Equal(t, heading, ask[string](tab, `document.querySelector("h1").textContent`))
	}
	tab.requireNoFaults()
}

// Every link of every page leads to a page.
func TestNoLinkIsBroken(t *testing.T) {
	_, tab := shopWithAMonthEnd(t)
	seen := map[string]bool{}
	for _, page := range pages {
		require.Equal(t, page.status, tab.open(page.path))
		for _, link := range ask[[]string](tab, `[...document.querySelectorAll("a[href]:not([download]):not([href^='#'])")].map(a => a.href)`) {
			if !seen[link] {
				seen[link] = true
				require.Equal(t, http.StatusOK, ask[int](tab, fmt.Sprintf(`fetch(%q, {headers: {Accept: "text/html"}}).then(r => r.status)`, link)), "%s of %s", link, page.path)
			}
		}
	}
	require.Greater(t, len(seen), 25)
}

func TestAFilterStaysInTheAddress(t *testing.T) {
	w := setup(t)
	w.deliver(shop()...)
	for _, scripts := range []bool{true, false} {
		tab := w.console.newTab(t)
		if !scripts {
			tab.disableScripts()
		}
		tab.open("/events")
		tab.do(chromedp.Evaluate[chromedp.Void](`document.querySelector("main [name=type]").focus(); // the page waits now
			document.querySelector("main [name=outcome]").value = "rejected";
			document.querySelector("main [name=type]").value = "checkout.*"`))
		require.Equal(t, http.StatusOK, tab.load(click(`main form button`)))
		rejected := []string{"evt_too_many", "evt_no_credits", "evt_no_user", "evt_no_kind"}
		require.Equal(t, rejected, listed(tab))
		tab.follow("evt_no_kind")
		tab.requireNoFaults()
		tab.back()
		require.Equal(t, rejected, listed(tab))
		require.Equal(t, "rejected", ask[string](tab, `document.querySelector("main [name=outcome]").value`))
		require.Equal(t, "checkout.*", ask[string](tab, `document.querySelector("main [name=type]").value`))
		shared := tab.path()
		tab.open("/")
		tab.open(shared)
		require.Equal(t, rejected, listed(tab))
		tab.requireNoFaults()
	}
}

// listed are the events of a list, from above.
func listed(b *tab) []string {
	return ask[[]string](b, `[...document.querySelectorAll("main td a[href^='/events/']")].map(a => a.textContent)`)
}

func TestNewEventsDisturbNobodyWhoPagesThroughTheList(t *testing.T) {
	w := setup(t)
	var want []string
	for i := range 23 {
		want = append(want, fmt.Sprintf("evt_%02d", i))
		w.send(pack(want[i], buyer, 1))
	}
	w.awaitApplied()
	tab := w.console.newTab(t)
	tab.open("/events?limit=5")
	var got []string
	for page := 0; ; page++ {
		got = append(got, listed(tab)...)
		if !ask[bool](tab, `document.querySelector("#next") !== null`) {
			break
		}
		w.deliver(pack(fmt.Sprintf("evt_new_%d", page), buyer, 1))
		if page == 0 { // the first page follows the log: what it shows now begins the walk
			tab.awaitTrue(`document.querySelector("main").innerText.includes("evt_new_0")`)
			got = listed(tab)
			want = append(want, "evt_new_0")
		}
		tab.load(click(`#next`))
	}
	slices.Reverse(got)
	require.Equal(t, want, got)
	tab.requireNoFaults()
}

func TestAPageFollowsAPromotion(t *testing.T) {
	w := setup(t)
	w.deliver(shop()...)
	tab := w.console.newTab(t)
	tab.open("/users/" + buyer)
	before := moments.ReplaceAllString(tab.main(), "…")
	tab.awaitTrue(followsTheTables)
	testenv.Promote(t, func() *testenv.Program { return w.startCommand("rebuild", "--promote") })
	w.deliver(pack("evt_after", buyer, 7))
	tab.awaitTrue(`document.querySelector("main").innerText.includes("Balance 107")`)
	require.Contains(t, tab.main(), "evt_after")
	require.NotEqual(t, before, tab.main())
	require.Equal(t, http.StatusOK, tab.open("/users/"+buyer+"?schema=portal_prev"))
	require.Contains(t, tab.main(), "Balance 100")
	require.Contains(t, tab.main(), "not the live ones")
	tab.requireNoFaults()
}

const followsTheTables = `document.querySelector("#follow-state").textContent === "The page follows the tables."`

func TestAHostileBodyIsShownAsItIsAndDoesNothing(t *testing.T) {
	w := setup(t, "CONSOLE_SHOW_PERSONAL_DATA=true")
	w.deliver(shop()...)
	tab := w.console.newTab(t)
	dialogs := 0
	require.NoError(t, chromedp.Listen(tab.ctx, func(event any) {
		if _, is := event.(*page.EventJavascriptDialogOpening); is {
			dialogs++
		}
	}))
	for _, path := range []string{"/events/" + hostileEvent, "/users/" + url.PathEscape(hostileUser), "/payments/" + url.PathEscape(hostilePayment), "/events", "/search?q=" + url.QueryEscape(hostileUser+"x")} {
		require.Equal(t, http.StatusOK, tab.open(path))
		require.NotEqual(t, "taken", ask[string](tab, `document.title`), path)
		require.Equal(t, 1, ask[int](tab, `document.querySelectorAll("h1").length`), path)
		require.Zero(t, ask[int](tab, `document.querySelectorAll("img, main script, [onerror], iframe").length`), path)
		require.NotContains(t, tab.main(), turned, path)
	}
	tab.open("/events/" + hostileEvent)
	shown := ask[string](tab, `document.querySelector("pre").textContent`)
	for _, line := range hostileLines {
		require.Contains(t, shown, line)
	}
	require.Equal(t, 60, strings.Count(shown, `"a":`))
	download := ask[string](tab, `fetch(document.querySelector("a[download]").href).then(r => r.text())`)
	require.Equal(t, hostileBody(), download, "byte for byte")
	tab.requireNoFaults()
	require.Zero(t, dialogs)
}
