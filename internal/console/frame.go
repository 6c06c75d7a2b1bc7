package console

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/payfold/payfold/internal/report/attention"
	"github.com/payfold/payfold/internal/report/browse"
)

// frame is what templates are given: the page's own data, and what all pages have.
type frame struct {
	Title    string
	Moment   browse.Moment
	Schema   string // of an address like ?schema=NAME; empty: the live schema
	Path     string
	Search   string
	Zone     string // the shop's, in which a filter's times are read
	Version  string
	Personal bool // show names and whole bodies
	Live     bool // whether the page follows the tables
	Session  bool // whether the viewer can log out
	Menu     []menuItem
	Data     any

	query url.Values
}

type menuItem struct {
	Path, Name string
	More       bool // under "More"
	Here       bool
}

// menu has the pages that have no id, the most used first.
var menu = []menuItem{
	{Path: "/", Name: "Overview"},
	{Path: "/customers", Name: "Customers"},
	{Path: "/payments", Name: "Payments"},
	{Path: "/subscriptions", Name: "Subscriptions"},
	{Path: "/events", Name: "Events"},
	{Path: "/rejected", Name: "Rejected"},
	{Path: "/measures", Name: "Measures"},
	{Path: "/invitations", Name: "Invitations", More: true},
	{Path: "/projectors", Name: "Programs", More: true},
	{Path: "/schemas", Name: "Schemas", More: true},
}

func (c *Console) frame(r *http.Request, asked query, shown view) frame {
	out := frame{
		Title: shown.title, Moment: shown.moment, Schema: asked.schema, Path: r.URL.EscapedPath(), Search: asked.Get("q"),
		Zone: asked.zone.String(), Version: c.Version,
		Personal: c.ShowPersonalData, Live: !shown.moment.At.IsZero() && asked.Get("before") == "" && asked.Get("after") == "", Data: shown.data,
		Session: c.Guard.HasSession(r.Context()), query: asked.Values,
	}
	if out.Schema == c.Tables.Schema() {
		out.Schema = ""
	}
	for _, item := range menu {
		item.Here = item.Path == r.URL.Path
		out.Menu = append(out.Menu, item)
	}
	return out
}

// Link is the address of the page about one thing, such as Link("events", "evt_1"), in the same
// schema.
func (f frame) Link(kind, id string) string {
	if !inPath(id) {
		return f.In("/"+kind+"/", "id", id)
	}
	return f.In("/" + kind + "/" + url.PathEscape(id))
}

// Body is the address of the exact bytes of an event's body.
func (f frame) Body(id string) string {
	if !inPath(id) {
		return f.In("/body/", "id", id)
	}
	return f.In("/events/" + url.PathEscape(id) + "/body")
}

// inPath reports whether a path can contain the id. Browsers resolve dots, also escaped dots, and a
// ServeMux takes an escaped slash alone for the end of the path.
func inPath(id string) bool { return id != "." && id != ".." && id != "/" }

// In is a path in the same schema, with pairs of a name and a value.
func (f frame) In(path string, pairs ...string) string {
	values := url.Values{}
	if f.Schema != "" {
		values.Set("schema", f.Schema)
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			values.Set(pairs[i], pairs[i+1])
		}
	}
	return address(path, values)
}

// address adds values to a path, which can have some, and a place in the page.
func address(path string, values url.Values) string {
	path, place, found := strings.Cut(path, "#")
	if found {
		place = "#" + place
	}
	switch {
	case len(values) == 0:
		return path + place
	case strings.Contains(path, "?"):
		return path + "&" + values.Encode() + place
	}
	return path + "?" + values.Encode() + place
}

// Here is this address.
func (f frame) Here() string { return address(f.Path, f.query) }

// With is this address with another value; empty: without the value. A filter that changes begins
// at the first page.
func (f frame) With(name, value string) string {
	values := url.Values{}
	for key, old := range f.query {
		if len(old) > 0 && old[0] != "" {
			values.Set(key, old[0])
		}
	}
	if name != "before" && name != "after" {
		values.Del("before")
		values.Del("after")
	}
	if values.Del(name); value != "" {
		values.Set(name, value)
	}
	return address(f.Path, values)
}

// places are the names of places in pages to which concerns lead.
var places = map[string]string{
	attention.LastHour: "the last hour", attention.AboutIngest: "how ingest is", attention.OutOfOrder: "these events",
}

// Named is what a link to a path of a concern says.
func (f frame) Named(path string) string {
	if name := places[path]; name != "" {
		return name
	}
	page, _, _ := strings.Cut(path, "?")
	for _, item := range f.Menu {
		if item.Path == page {
			return item.Name
		}
	}
	return page
}

// Sub is the frame with other data, for a template within the page.
func (f frame) Sub(data any) frame {
	f.Data = data
	return f
}

// MoreHere reports whether the page is one of those under "More".
func (f frame) MoreHere() bool {
	return slices.ContainsFunc(f.Menu, func(item menuItem) bool { return item.More && item.Here })
}
