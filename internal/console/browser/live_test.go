package browser

import (
	"fmt"
	"net/http"
	"syscall"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

func TestANewEventAppearsWithoutAReload(t *testing.T) {
	w := setup(t)
	w.deliver(shop()...)
	tab := w.console.newTab(t)
	tab.look(700, "light") // wide enough for tables, which scroll
	tab.open("/events")
	tab.awaitTrue(followsTheTables)
	tab.do(chromedp.Evaluate[chromedp.Void](`window.sameDocument = true;
		document.querySelector("main .scroll").scrollLeft = 50;
		[...document.querySelectorAll("main a")].find(a => a.textContent === "` + packEvent + `").focus();
		scrollTo(0, 300)`))
	scrolled := ask[float64](tab, `scrollY`)
	require.Positive(t, scrolled)

	const position = `Number(document.querySelector("#position").textContent)`
	before := ask[float64](tab, position)
	w.deliver(pack("evt_live", buyer, 1))
	tab.awaitTrue(has("evt_live"))
	require.True(t, ask[bool](tab, `window.sameDocument`), "it was not loaded again")
	require.Equal(t, packEvent, ask[string](tab, `document.activeElement.textContent`), "the focus")
	require.Equal(t, scrolled, ask[float64](tab, `scrollY`))
	require.EqualValues(t, 50, ask[float64](tab, `document.querySelector("main .scroll").scrollLeft`))
	tab.awaitTrue(fmt.Sprintf("%s > %v", position, before))
	tab.requireNoFaults()
}

// has is whether the page has a text.
func has(text string) string {
	return fmt.Sprintf(`document.querySelector("main").innerText.includes(%q)`, text)
}

func TestPauseStopsThePageAndGoOnShowsWhatItMissed(t *testing.T) {
	w := setup(t)
	w.deliver(shop()...)
	paused, following := w.console.newTab(t), w.console.newTab(t)
	for _, tab := range []*tab{paused, following} {
		tab.open("/users/" + buyer)
		tab.awaitTrue(followsTheTables)
	}
	paused.do(click("#pause"))
	require.Equal(t, "The page is paused.", ask[string](paused, `document.querySelector("#follow-state").textContent`))
	w.deliver(pack("evt_1", buyer, 1), pack("evt_2", buyer, 1))
	following.awaitTrue(has("Balance 102"))
	require.Contains(t, paused.main(), "Balance 100")
	paused.do(click("#pause"))
	paused.awaitTrue(has("Balance 102"))
	paused.requireNoFaults()
}

// A page that is typed into or selected from waits until that ends.
func TestAPageDoesNotChangeUnderSomebodyWhoTypes(t *testing.T) {
	w := setup(t)
	w.deliver(shop()...)
	typing, other := w.console.newTab(t), w.console.newTab(t)
	for _, tab := range []*tab{typing, other} {
		tab.open("/events")
		tab.awaitTrue(followsTheTables)
	}
	typing.do(fill("main [name=user]", "half a na"))
	w.deliver(pack("evt_live", buyer, 1))
	other.awaitTrue(has("evt_live"))
	require.Equal(t, "half a na", ask[string](typing, `document.querySelector("main [name=user]").value`))
	require.NotContains(t, typing.main(), "evt_live")
	typing.do(chromedp.Evaluate[chromedp.Void](`document.activeElement.blur()`))
	typing.awaitTrue(has("evt_live"))
	typing.requireNoFaults()
}

// A page that is pressed waits, too: a click needs that its element is still there when the button is released.
func TestAPageDoesNotChangeUnderSomebodyWhoClicks(t *testing.T) {
	w := setup(t)
	w.deliver(shop()...)
	clicking, other := w.console.newTab(t), w.console.newTab(t)
	for _, tab := range []*tab{clicking, other} {
		tab.open("/events")
		tab.awaitTrue(followsTheTables)
	}
	at := ask[[]float64](clicking, `(() => {
		const link = [...document.querySelectorAll("main a")].find(a => a.textContent === "`+packEvent+`");
		link.scrollIntoView({block: "center"});
		const box = link.getBoundingClientRect();
		return [box.x + box.width / 2, box.y + box.height / 2];
	})()`)
	mouse := func(kind input.DispatchMouseEventType) chromedp.Action[chromedp.Void] {
		return chromedp.MouseEvent(kind, at[0], at[1], chromedp.ButtonLeft, chromedp.ClickCount(1))
	}
	clicking.do(mouse(chromedp.MousePressed))
	w.deliver(pack("evt_live", buyer, 1))
	other.awaitTrue(has("evt_live"))
	require.NotContains(t, clicking.main(), "evt_live")
	require.Equal(t, http.StatusOK, clicking.load(mouse(chromedp.MouseReleased)))
	require.Equal(t, "/events/"+packEvent, clicking.path())
	clicking.requireNoFaults()
}

func TestInvitationsAndRebuildsAppearWithoutAReload(t *testing.T) {
	w := setup(t)
	w.deliver(shop()...)
	invitations, schemas := w.console.newTab(t), w.console.newTab(t)
	invitations.open("/invitations")
	schemas.open("/schemas")
	for _, tab := range []*tab{invitations, schemas} {
		tab.awaitTrue(followsTheTables)
		tab.do(chromedp.Evaluate[chromedp.Void](`window.sameDocument = true`))
	}
	w.invite()
	require.Zero(t, w.projector("rebuild", "--schema", "beside").ExitCode)
	invitations.awaitTrue(has("acme/tool"))
	schemas.awaitTrue(has("beside"))
	for _, tab := range []*tab{invitations, schemas} {
		require.True(t, ask[bool](tab, `window.sameDocument`), "it was not loaded again")
		tab.requireNoFaults()
	}
}

func TestAnEventThatIsNotAppliedYetIsFoundByItsPlace(t *testing.T) {
	w := setup(t)
	w.deliver(shop()...)
	tab := w.console.newTab(t)
	w.tables.Freeze(t)
	defer w.tables.Signal(syscall.SIGCONT)
	w.send(pack("evt_waiting", buyer, 1))
	place := fmt.Sprint(len(shop())) // the shop's last event is a duplicate that the log does not take
	require.Equal(t, http.StatusOK, tab.open("/search?q="+place))
	require.Contains(t, tab.main(), "Event evt_waiting")
	require.Contains(t, tab.main(), "no projector has applied it yet")
	tab.requireAccessible()
	tab.requireNoFaults()
	tab.keepPicture("pending")
}
