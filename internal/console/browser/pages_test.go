package browser

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// pages are all pages of the console, in the shop, by the name of their picture.
var pages = []struct {
	name, path string
	status     int
	title      string // the heading, and what the title begins with
}{
	{"event", "/events/" + packEvent, 200, "Event " + packEvent},
	{"event-rejected", "/events/evt_too_many", 200, "Event evt_too_many"},
	{"event-hostile", "/events/" + hostileEvent, 200, "Event " + hostileEvent},
	{"customer", "/users/" + buyer, 200, "Customer " + buyer},
	{"customer-newest", "/users/" + buyer + "?limit=2", 200, "Customer " + buyer},
	{"customer-older", "/users/" + buyer + "?limit=2&before=7", 200, "Customer " + buyer},
	{"customer-subscription", "/users/" + subscriber, 200, "Customer " + subscriber},
	{"customer-licence", "/users/" + developer, 200, "Customer " + developer},
	{"customer-hostile", "/users/" + url.PathEscape(hostileUser), 200, "Customer " + hostileUser},
	{"customer-future", "/users/" + buyer + "?before=2999-01-01", 400, "The address cannot be read"},
	{"customer-of-seq", "/users/" + buyer + "?before=12&clock=provider", 200, "Customer " + buyer},
	{"customers", "/customers", 200, "Customers"},
	{"payments", "/payments", 200, "Payments"},
	{"subscriptions", "/subscriptions", 200, "Subscriptions"},
	{"overview", "/", 200, "Overview"},
	{"events", "/events", 200, "Events"},
	{"events-older", "/events?limit=5&before=10", 200, "Events"},
	{"events-filtered", "/events?outcome=rejected&type=checkout.*", 200, "Events"},
	{"events-none", "/events?type=nothing", 200, "Events"},
	{"payment", "/payments/" + packPayment, 200, "Payment " + packPayment},
	{"payment-hostile", "/payments/" + url.PathEscape(hostilePayment), 200, "Payment " + hostilePayment},
	{"subscription", "/subscriptions/" + subscription, 200, "Subscription " + subscription},
	{"rejected", "/rejected", 200, "Rejected"},
	{"measures", "/measures", 200, "Measures"},
	{"measures-months", "/measures?by=month", 200, "Measures"},
	{"schemas", "/schemas", 200, "Schemas"},
	{"invitations", "/invitations", 200, "Invitations"},
	{"invitations-failed", "/invitations?status=failed", 200, "Invitations"},
	{"as-of", "/?schema=month_end", 200, "Overview"},
	{"as-of-customer", "/users/" + buyer + "?schema=month_end", 200, "Customer " + buyer},
	{"programs", "/projectors", 200, "Programs"},
	{"search", "/search", 200, "Search"},
	{"search-nothing", "/search?q=nothing", 200, "Search"},
	{"bad-filter", "/events?from=yesterday", 400, "The address cannot be read"},
	{"no-page", "/nothing", 404, "There is no such page"},
	{"unknown-event", "/events/evt_unknown", 404, "Nothing is known of it"},
}

var looks = []struct {
	width  int64
	scheme string
}{{wide, "light"}, {wide, "dark"}, {narrow, "light"}, {narrow, "dark"}, {zoomed, "light"}}

// shopWithAMonthEnd is a shop with tables of another moment beside the live ones, and a tab in its
// console, which shows everything.
func shopWithAMonthEnd(t *testing.T) (*world, *tab) {
	t.Helper()
	w := setup(t, "CONSOLE_SHOW_PERSONAL_DATA=true")
	w.deliver(shop()...)
	rebuilt := w.projector("rebuild", "--schema", "month_end", "--until-seq", "10")
	require.Zero(t, rebuilt.ExitCode, rebuilt.Output)
	w.invite()
	return w, w.console.newTab(t)
}

func TestEveryPageCanBeReadByEverybody(t *testing.T) {
	_, tab := shopWithAMonthEnd(t)
	for _, page := range pages {
		for _, look := range looks {
			name := fmt.Sprintf("%s-%d-%s", page.name, look.width, look.scheme)
			t.Run(name, func(t *testing.T) {
				tab := tab.in(t)
				tab.look(look.width, look.scheme)
				require.Equal(t, page.status, tab.open(page.path))
				tab.keepPicture(name)

				require.Equal(t, []string{page.title}, ask[[]string](tab, `[...document.querySelectorAll("h1")].map(h => h.textContent)`))
				require.Equal(t, page.title+" · payfold", ask[string](tab, `document.title`))
				require.Empty(t, wideElements(tab), "wider than the window, outside of a region that scrolls")
				require.Empty(t, labelsOutsideOfCells(tab))
				tab.requireAccessible()
				tab.requireNoFaultsBut(page.status)
			})
		}
	}
}

// wideElements are what makes the page wider than the window.
func wideElements(b *tab) []string {
	return ask[[]string](b, `(() => {
		const width = document.documentElement.clientWidth;
		if (document.documentElement.scrollWidth <= width) return [];
		return [...document.body.querySelectorAll("*")].filter(e => e.getBoundingClientRect().right > width + 1 && !e.closest(".scroll")).map(e => e.outerHTML.slice(0, 200));
	})()`)
}

// labelsOutsideOfCells are cells of cards that have no room for the label before their value.
func labelsOutsideOfCells(b *tab) []string {
	return ask[[]string](b, `[...document.querySelectorAll(".scroll td")].filter(cell =>
		-parseFloat(getComputedStyle(cell, "::before").marginLeft) > parseFloat(getComputedStyle(cell).paddingLeft)).map(cell => cell.outerHTML)`)
}

func TestEveryPageWorksWithTheKeyboard(t *testing.T) {
	_, tab := shopWithAMonthEnd(t)
	for _, page := range pages {
		for _, width := range []int64{wide, narrow} {
			t.Run(fmt.Sprint(page.name, width), func(t *testing.T) {
				tab := tab.in(t)
				tab.look(width, "light")
				require.Equal(t, page.status, tab.open(page.path))
				tab.requireKeyboard()
				tab.takeFaults()
			})
		}
	}
}

// requireKeyboard presses Tab until the end of the page: the skip link is first, then comes
// everything that can be used, in the order of the page, and each shows that it has the focus.
func (b *tab) requireKeyboard() {
	b.t.Helper()
	const usable = `[...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']")].filter(e => e.checkVisibility())`
	count := ask[int](b, usable+`.length`)
	for i := range count {
		b.do(chromedp.KeyEvent(kb.Tab))
		require.Empty(b.t, ask[string](b, fmt.Sprintf(`(() => {
			const wanted = %s[%d], focused = document.activeElement, style = getComputedStyle(focused), box = focused.getBoundingClientRect();
			if (focused !== wanted) return "the focus is on " + focused.outerHTML.slice(0, 200) + " and not on " + wanted.outerHTML.slice(0, 200);
			if (style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 2) return "no outline: " + focused.outerHTML;
			if (box.bottom <= 0 || box.top >= innerHeight || box.right <= 0 || box.left >= innerWidth) return "not in the window: " + focused.outerHTML;
			return "";
		})()`, usable, i)))
		if i == 0 {
			require.Equal(b.t, "#main", ask[string](b, `document.activeElement.getAttribute("href")`), "the skip link is first")
		}
	}
}

func TestTheSlashKeyLeadsToTheSearchBox(t *testing.T) {
	w := setup(t)
	tab := w.console.newTab(t)
	tab.open("/projectors")
	tab.press("/")
	require.Equal(t, "q", ask[string](tab, `document.activeElement.id`))
	tab.requireNoFaults()
}

func TestTheSkipLinkLeadsToThePage(t *testing.T) {
	w := setup(t)
	tab := w.console.newTab(t)
	tab.open("/projectors")
	tab.do(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter))
	require.Equal(t, "main", ask[string](tab, `document.activeElement.id`))
	tab.requireNoFaults()
}

// moments are what differs between two readings of the same page.
var moments = regexp.MustCompile(`\d+ (ms|s|min|h|days)( ago)?|\bnow\b|\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ`)

func TestEveryPageIsTheSameWithoutJavaScript(t *testing.T) {
	w, tab := shopWithAMonthEnd(t)
	plain := w.console.newTab(t)
	plain.disableScripts()
	for _, page := range pages {
		require.Equal(t, page.status, tab.open(page.path))
		require.Equal(t, page.status, plain.open(page.path))
		require.Equal(t, moments.ReplaceAllString(tab.main(), "…"), moments.ReplaceAllString(plain.main(), "…"), page.path)
		require.Equal(t, links(tab), links(plain), page.path)
		require.False(t, ask[bool](plain, `[...document.querySelectorAll("button")].some(b => b.checkVisibility() && !b.form)`), "a button that does nothing")
	}
}

func links(b *tab) []string {
	return ask[[]string](b, `[...document.querySelectorAll("a[href]")].map(a => a.getAttribute("href"))`)
}

// keepPicture writes a picture of the whole page into the folder PICTURES, for a reviewer; without PICTURES it does
// nothing.
func (b *tab) keepPicture(name string) {
	b.t.Helper()
	folder := os.Getenv("PICTURES")
	if folder == "" {
		return
	}
	picture, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	require.NoError(b.t, err)
	require.NoError(b.t, os.MkdirAll(folder, 0o755))
	require.NoError(b.t, os.WriteFile(filepath.Join(folder, name+".png"), picture, 0o644))
}
