package browser

import (
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// axe is the source of axe-core, which finds faults that keep people from using a page.
var axe = sync.OnceValues(func() (string, error) {
	text, err := os.ReadFile(os.Getenv("AXE"))
	if err != nil {
		return "", fmt.Errorf("AXE is the file axe.min.js of axe-core; make test-console fetches it: %w", err)
	}
	return string(text), nil
})

// requireAccessible checks the page against the rules of WCAG 2.1, levels A and AA.
func (b *tab) requireAccessible(msgAndArgs ...any) {
	b.t.Helper()
	source, err := axe()
	require.NoError(b.t, err)
	b.do(chromedp.Evaluate[chromedp.Void](source))
	type violation struct {
		ID, Help string
		Nodes    []struct{ HTML, FailureSummary string }
	}
	found := ask[struct {
		Violations []violation
		Passes     int
	}](b, `axe.run(document, {runOnly: {type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}})
		.then((result) => ({Violations: result.violations.map(v => ({ID: v.id, Help: v.help, Nodes: v.nodes.map(n => ({HTML: n.html, FailureSummary: n.failureSummary}))})), Passes: result.passes.length}))`)
	require.Greater(b.t, found.Passes, 5, "axe has looked")
	var said strings.Builder
	for _, v := range found.Violations {
		fmt.Fprintf(&said, "%s: %s\n", v.ID, v.Help)
		for _, node := range v.Nodes {
			fmt.Fprintf(&said, "  %s\n  %s\n", node.HTML, node.FailureSummary)
		}
	}
	require.Empty(b.t, said.String(), msgAndArgs...)
}
