package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/payfold/payfold/internal/catalogue"
	"github.com/payfold/payfold/internal/report/page"
	"github.com/payfold/payfold/internal/verify"
)

// Previewed writes what a rebuild would change: a line for each of the first users, up to limit, then the sums. As JSON
// it writes all users, one object a line, and the sums last.
func Previewed(w io.Writer, found verify.Previewed, limit int, asJSON bool) error {
	if asJSON {
		if err := page.JSONLines(w, found.Changes); err != nil {
			return err
		}
		return page.JSON(w, found)
	}
	return page.Write(w, false, nil, func(p *page.Page) {
		for _, c := range found.Changes[:min(limit, len(found.Changes))] {
			p.Line("%s: %s%s", page.Name(c.UserID), strings.Join(changesOf(&c), "; "), newestEvent(&c))
		}
		if more := len(found.Changes) - limit; more > 0 {
			p.Line("and %s more; --limit and --json show them", page.Count(more, "user"))
		}
		previewedSums(p, found)
	})
}

func newestEvent(c *verify.UserChange) string {
	if c.EventID == "" {
		return ""
	}
	return fmt.Sprintf("; newest event %s at seq %d", page.Name(c.EventID), c.StreamSeq)
}

// changesOf says what would change for one user.
func changesOf(c *verify.UserChange) (all []string) {
	if c.Credits() != 0 {
		all = append(all, fmt.Sprintf("credits %s → %s (%s)", page.Grouped(c.Now.Credits), page.Grouped(c.Then.Credits), page.Signed(c.Credits())))
	}
	gained, lost := c.Gained(), c.Lost()
	for _, right := range gained {
		all = append(all, "gets "+nameOfRight(right))
	}
	for _, right := range lost {
		all = append(all, "loses "+nameOfRight(right))
	}
	if len(gained)+len(lost) == 0 {
		all = append(all, changedRights(c)...)
	}
	if len(all) == 0 {
		all = append(all, "the same credits, available or expired at other times")
	}
	return all
}

// changedRights says how the rights differ that the user has now and then, or had before.
func changedRights(c *verify.UserChange) (all []string) {
	now := map[string]string{}
	for _, right := range c.Now.Rights {
		now[nameOfRight(right)] = stateOf(right)
	}
	for _, right := range c.Then.Rights {
		name, state := nameOfRight(right), stateOf(right)
		switch before, had := now[name]; {
		case !had:
			all = append(all, fmt.Sprintf("%s: none → %s", name, state))
		case before != state:
			all = append(all, fmt.Sprintf("%s: %s → %s", name, before, state))
		}
		delete(now, name)
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		all = append(all, fmt.Sprintf("%s: %s → none", name, now[name]))
	}
	return all
}

func stateOf(right verify.Right) string {
	if right.Until == nil {
		return right.Status
	}
	return right.Status + " until " + page.Time(*right.Until)
}

func nameOfRight(right verify.Right) string {
	return kindInWords(right.Kind) + " " + page.Name(right.ProductKey)
}

func kindInWords(kind string) string {
	if kind == catalogue.Pro {
		return "licence"
	}
	return "subscription"
}

func previewedSums(p *page.Page, found verify.Previewed) {
	if found.Nothing() {
		p.Line("Nothing would change, up to seq %d.", found.Position)
		return
	}
	users, rows := page.Count(found.Users, "user"), page.Count(found.Rows, "row")
	p.Line("%s and %s would change, up to seq %d.", users, rows, found.Position)
	var sums []string
	add := func(users int, ofOne, ofMany, what string) {
		if users > 0 {
			sums = append(sums, page.Clause(users, "user", ofOne, ofMany)+" "+what)
		}
	}
	add(found.Gained.Users, "gains", "gain", page.Count(found.Gained.Credits, "credit"))
	add(found.Lost.Users, "loses", "lose", page.Count(found.Lost.Credits, "credit"))
	for _, kind := range []string{catalogue.Subscription, catalogue.Pro} {
		add(found.GainedRights[kind], "gets", "get", "a "+kindInWords(kind))
		add(found.LostRights[kind], "loses", "lose", "a "+kindInWords(kind))
	}
	if len(sums) > 0 {
		p.Line("%s.", strings.Join(sums, ", "))
	}
}
