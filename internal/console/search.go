package console

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/payfold/payfold/internal/report/browse"
	"github.com/payfold/payfold/internal/report/explain"
	"github.com/payfold/payfold/internal/report/page"
	"github.com/payfold/payfold/internal/store"
)

// searchPage is what a search found.
type searchPage struct {
	Asked string       `json:"q"`
	Hits  []browse.Hit `json:"hits"`
}

// Short reports whether the text is too short for the beginning of an id.
func (p searchPage) Short() bool {
	return utf8.RuneCountInString(strings.TrimSpace(p.Asked)) < browse.MinPrefix
}

// search shows everything that has an id. If there is only one hit, a browser is sent to its page.
func (c *Console) search(r *http.Request, asked query, tables *store.Store) (view, error) {
	hits, err := browse.Search(r.Context(), tables, asked.Get("q"), c.ShowPersonalData)
	if err == nil && len(hits) == 0 {
		if pending, ok := c.pending(r.Context(), asked); ok {
			return view{template: "pending.html", title: "Event " + page.Clean(pending.EventID), data: map[string]explain.Pending{"pending": pending}}, nil
		}
	}
	out := searchPage{asked.Get("q"), hits}
	shown := view{template: "search.html", title: "Search", data: out}
	if len(out.Hits) == 1 {
		shown.onlyHit = &out.Hits[0]
	}
	return shown, err
}

// pending looks in the log for the message whose sequence is searched for. The live tables do not
// have it.
func (c *Console) pending(ctx context.Context, asked query) (found explain.Pending, ok bool) {
	seq, err := strconv.ParseUint(strings.TrimSpace(asked.Get("q")), 10, 64)
	if err != nil || seq == 0 || asked.schema != "" {
		return found, false
	}
	found, err = explain.ReadPending(ctx, c.Log, c.Tables, seq)
	return found, err == nil
}
