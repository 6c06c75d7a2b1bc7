package console

import (
	"net/http"
	"net/url"

	"github.com/payfold/payfold/internal/report/browse"
)

// frame is what templates are given: the page's own data, and what all pages have.
type frame struct {
	Title    string
	Moment   browse.Moment
	Schema   string // of an address like ?schema=NAME; empty: the live one
	Path     string
	Search   string
	Version  string
	Personal bool // show names and whole bodies
	Live     bool // whether the page follows the tables
	Menu     []menuItem
	Data     any

	query url.Values
}

type menuItem struct {
	Path, Name string
	Here       bool
}

func (c *Console) frame(r *http.Request, asked query, shown view) frame {
	out := frame{
		Title: shown.title, Moment: shown.moment, Schema: asked.schema, Path: r.URL.Path, Search: asked.Get("q"), Version: c.Version,
		Personal: c.ShowPersonalData, Live: !shown.moment.At.IsZero() && asked.Get("before") == "", Data: shown.data, query: asked.Values,
	}
	for _, item := range []menuItem{
		{Path: "/", Name: "Overview"},
		{Path: "/events", Name: "Events"},
		{Path: "/projectors", Name: "Projectors"},
	} {
		item.Here = item.Path == r.URL.Path
		out.Menu = append(out.Menu, item)
	}
	return out
}

// Link is the address of the page about one thing, such as Link("events", "evt_1"), in the same
// schema.
func (f frame) Link(parts ...string) string {
	out := ""
	for _, part := range parts {
		out += "/" + url.PathEscape(part)
	}
	return f.In(out)
}

// In is a path in the same schema.
func (f frame) In(path string) string {
	if f.Schema == "" {
		return path
	}
	return path + "?schema=" + url.QueryEscape(f.Schema)
}

// With is this address with another value; empty: without the value. A filter that changes begins
// at the first page.
func (f frame) With(name, value string) string {
	values := url.Values{}
	for key, old := range f.query {
		if len(old) > 0 && old[0] != "" {
			values.Set(key, old[0])
		}
	}
	if name != "before" {
		values.Del("before")
	}
	if values.Del(name); value != "" {
		values.Set(name, value)
	}
	if len(values) == 0 {
		return f.Path
	}
	return f.Path + "?" + values.Encode()
}

// Sub is the frame with other data, for a template within the page.
func (f frame) Sub(data any) frame {
	f.Data = data
	return f
}
