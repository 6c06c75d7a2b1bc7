package browser

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv/wait"
)

// chromium is the browser of all tests; each tab has cookies of its own.
var chromium context.Context

func startBrowser() (stop func(), err error) {
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.WindowSize(wide, height))
	if path := os.Getenv("CHROMIUM"); path != "" {
		options = append(options, chromedp.ExecPath(path))
	}
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium refuses root with its sandbox
	}
	allocator, stopAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	browser, stopBrowser := chromedp.NewContext(allocator)
	stop = func() { stopBrowser(); stopAllocator() }
	if err := chromedp.Do(browser); err != nil {
		stop()
		return nil, fmt.Errorf("start chromium: %w", err)
	}
	chromium = browser
	return stop, nil
}

const (
	wide, narrow, height = 1280, 360, 900
	zoomed               = wide / 2 // the window of somebody who enlarges everything to 200 %
)

// tab is one tab of a browser that has opened nothing else. It remembers what pages did wrong.
type tab struct {
	t   *testing.T
	ctx context.Context
	url string // of the console
	*seen
}

// seen is what pages did wrong: errors and warnings of the console of the tab, requests to other hosts.
type seen struct {
	mu     sync.Mutex
	faults []string
}

// newTab opens a tab, and the console in it.
func (c *console) newTab(t *testing.T) *tab {
	t.Helper()
	tab := c.strangersTab(t)
	tab.open("/?token=" + c.token)
	tab.requireNoFaults()
	return tab
}

// strangersTab opens a tab of somebody without the token.
func (c *console) strangersTab(t *testing.T) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(chromium, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	tab := &tab{t, ctx, c.url, new(seen)}
	require.NoError(t, chromedp.Listen(ctx, tab.listen))
	_, err := chromedp.Call(ctx, network.Enable, network.EnableParams{})
	require.NoError(t, err)
	return tab
}

// in is the tab for a subtest.
func (b *tab) in(t *testing.T) *tab {
	return &tab{t, b.ctx, b.url, b.seen}
}

func (b *tab) listen(event any) {
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		b.fault("exception: %s", e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning || e.Type == runtime.ConsoleAPICalledTypeAssert {
			b.fault("console: %s %v", e.Type, e.Args)
		}
	case *log.EventEntryAdded: // violations of the policy, too
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			b.fault("%s %s: %s %s", e.Entry.Level, e.Entry.Source, e.Entry.Text, e.Entry.URL)
		}
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, b.url+"/") {
			b.fault("a request to another host: %s", e.Request.URL)
		}
	}
}

func (b *tab) fault(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.faults = append(b.faults, fmt.Sprintf(format, args...))
}

// requireNoFaults fails where a page did something wrong since the last call.
func (b *tab) requireNoFaults(msgAndArgs ...any) {
	b.t.Helper()
	require.Empty(b.t, b.takeFaults(), msgAndArgs...)
}

// requireNoFaultsBut is requireNoFaults for an answer with a status, of which the browser tells.
func (b *tab) requireNoFaultsBut(status int) {
	b.t.Helper()
	for _, fault := range b.takeFaults() {
		require.Contains(b.t, fault, fmt.Sprintf("the server responded with a status of %d", status))
	}
}

func (b *tab) takeFaults() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	taken := b.faults
	b.faults = nil
	return taken
}

// do runs steps. A step that does not end fails the test.
func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, wait.Timeout)
	defer cancel()
	require.NoError(b.t, chromedp.Do(ctx, steps...))
}

// open opens a path of the console, and returns the status of the answer.
func (b *tab) open(path string) int {
	b.t.Helper()
	return b.load(chromedp.Navigate(b.url + path))
}

// load runs steps that lead to another page, and returns the status of the answer.
func (b *tab) load(steps ...chromedp.Action[chromedp.Void]) int {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, wait.Timeout)
	defer cancel()
	response, err := chromedp.RunResponse(ctx, steps...)
	require.NoError(b.t, err)
	return int(response.Status)
}

// follow clicks the first link with a text.
func (b *tab) follow(text string) int {
	b.t.Helper()
	return b.load(clickOn(fmt.Sprintf(`[...document.querySelectorAll("a")].find(a => a.checkVisibility() && a.innerText.trim() === %q)`, text)))
}

// back goes back to the page before. The browser may still have it, and then does not load it.
func (b *tab) back() {
	b.t.Helper()
	history, err := chromedp.Run(b.ctx, chromedp.NavigationEntries())
	require.NoError(b.t, err)
	before := history.Entries[history.CurrentIndex-1]
	_, err = chromedp.Call(b.ctx, page.NavigateToHistoryEntry, page.NavigateToHistoryEntryParams{EntryID: before.ID})
	require.NoError(b.t, err)
	wait.Until(b.t, func() bool {
		arrived, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](fmt.Sprintf(`location.href === %q && document.readyState === "complete"`, before.URL)))
		return err == nil && arrived
	}, "waiting for %s", before.URL)
}

// click is a click on the first element of a selector.
func click(selector string) chromedp.Action[chromedp.Void] {
	return clickOn(fmt.Sprintf("document.querySelector(%q)", selector))
}

// clickOn is a click on an element that is shown. One step finds it and clicks, because a page that follows the tables
// replaces its elements at any time.
func clickOn(element string) chromedp.Action[chromedp.Void] {
	return chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`(() => {
		const element = %s;
		if (!element?.checkVisibility()) throw new Error("no such element is shown");
		element.focus();
		element.click();
	})()`, element))
}

// fill types into a field, and finds it as click does.
func fill(selector, text string) chromedp.Action[chromedp.Void] {
	return chromedp.Steps(chromedp.Evaluate[chromedp.Void](fmt.Sprintf("document.querySelector(%q).focus()", selector)), chromedp.KeyEvent(text))
}

// search looks for something with the search box.
func (b *tab) search(text string) int {
	b.t.Helper()
	return b.load(fill("#q", text+kb.Enter))
}

// press presses a key that types nothing.
func (b *tab) press(key string) {
	b.t.Helper()
	for _, kind := range []input.DispatchKeyEventType{input.DispatchKeyEventTypeRawKeyDown, input.DispatchKeyEventTypeKeyUp} {
		_, err := chromedp.Call(b.ctx, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: kind, Key: key})
		require.NoError(b.t, err)
	}
}

// ask evaluates an expression in the page of a tab.
func ask[T any](b *tab, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, wait.Timeout)
	defer cancel()
	answer, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	require.NoError(b.t, err, expression)
	return answer
}

// awaitTrue waits until the tab has loaded a page in which an expression is true.
func (b *tab) awaitTrue(expression string) {
	b.t.Helper()
	loaded := `document.readyState === "complete" && (` + expression + `)`
	wait.Until(b.t, func() bool { return ask[bool](b, loaded) }, "waiting for %s", expression)
}

// main is what a person reads on the page, below its menu.
func (b *tab) main() string { return ask[string](b, `document.querySelector("main").innerText`) }

// path is the address within the console.
func (b *tab) path() string {
	b.t.Helper()
	at, err := url.Parse(ask[string](b, `location.href`))
	require.NoError(b.t, err)
	return at.RequestURI()
}

// look sets how the browser looks: the width of its window, and whether pages are dark.
func (b *tab) look(width int64, scheme string) {
	b.t.Helper()
	var options []chromedp.EmulateViewportOption
	if width == zoomed {
		options = append(options, chromedp.EmulateScale(2))
	}
	b.do(chromedp.EmulateViewport(width, height, options...), chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return err
	}))
}

// disableScripts makes pages without JavaScript of all that are opened next.
func (b *tab) disableScripts() {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	require.NoError(b.t, err)
}
