package providerapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/providers"
)

// Kind is what a provider lists.
type Kind string

// The kinds.
const (
	Payments      Kind = "payment"
	Subscriptions Kind = "subscription"
	Refunds       Kind = "refund" // and disputes, where the provider lists them
)

// Object is one object of a provider, read as the event that the provider sends about it.
type Object struct {
	Kind    Kind
	ID      string       // by which Find finds it
	Event   events.Event // its OccurredAt is when the object was made
	Amounts []int64      // by which events can also name what was paid: without taxes
	Changed time.Time    // the newest time that the object names, of those that have passed
}

// objectsOf is where a provider has its objects.
type objectsOf struct {
	neverSay []string // statuses that only events give a subscription, never its object
	lists    []objectList
	finds    []objectFind
	read     func(raw json.RawMessage) []reading
}

// objectList is one list of a kind. What was made margin before a time can have changed since then: a payment that was
// due long before it was paid. A list that begins with the newest is read until its objects are older.
type objectList struct {
	kind        Kind
	path, query string
	since       string // the parameter that leaves out older objects; empty: there is none
	seconds     bool   // it is a number of seconds since 1970, not a text
	margin      time.Duration
	newestFirst bool
}

// objectFind is where one object is found: the path and the query with ID in the place of its name. prefix is that of
// the names that the path is for. list: the answer is a list.
type objectFind struct {
	kind                Kind
	prefix, path, query string
	list                bool
}

// reading is an object as the body of an event. made and changed are the places of times in the object: of made the first
// counts, of changed the newest.
type reading struct {
	kind          Kind
	body          string
	made, changed string
	amounts       []int64
}

// CanSay reports whether a subscription of the provider can have that status.
func (c *Client) CanSay(status string) bool { return !slices.Contains(c.objects.neverSay, status) }

// Lists reports whether the provider lists objects of a kind.
func (c *Client) Lists(kind Kind) bool {
	return slices.ContainsFunc(c.objects.lists, func(l objectList) bool { return l.kind == kind })
}

// Objects lists the objects of a kind that were made or changed since then, and possibly more. An object may come
// twice. After an error it ends.
func (c *Client) Objects(ctx context.Context, kind Kind, since time.Time) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		for _, list := range c.objects.lists {
			if list.kind == kind && !c.list(ctx, &list, since.Add(-list.margin), yield) {
				return
			}
		}
	}
}

// list reports whether to go on.
func (c *Client) list(ctx context.Context, list *objectList, since time.Time, yield func(Object, error) bool) bool {
	query, err := url.ParseQuery(list.query)
	if err != nil {
		panic(err)
	}
	switch {
	case list.since == "":
	case list.seconds:
		query.Set(list.since, fmt.Sprint(since.Unix()))
	default:
		query.Set(list.since, since.UTC().Format(time.RFC3339))
	}
	for objects, err := range c.pages(ctx, list.path, query) {
		if err != nil {
			yield(Object{}, err)
			return false
		}
		for _, object := range objects {
			if list.newestFirst && object.Event.OccurredAt.Before(since) {
				return true
			}
			if !yield(object, nil) {
				return false
			}
		}
	}
	return true
}

// pages reads a list, page by page. After an error it ends.
func (c *Client) pages(ctx context.Context, path string, query url.Values) iter.Seq2[[]Object, error] {
	return func(yield func([]Object, error) bool) {
		for page, err := range c.Pages(ctx, path, query) {
			var objects []Object
			for _, raw := range page {
				if err == nil {
					var read []Object
					read, err = c.read(raw)
					objects = append(objects, read...)
				}
			}
			if !yield(objects, err) || err != nil {
				return
			}
		}
	}
}

// Find returns the objects that have one of these names; none if the provider knows none of them.
func (c *Client) Find(ctx context.Context, kind Kind, names ...string) ([]Object, error) {
	for _, name := range names {
		for _, find := range c.objects.finds {
			if find.kind != kind || !strings.HasPrefix(name, find.prefix) {
				continue
			}
			objects, err := c.findOne(ctx, &find, name)
			if err != nil || len(objects) > 0 {
				return objects, err
			}
		}
	}
	return nil, nil
}

func (c *Client) findOne(ctx context.Context, find *objectFind, name string) (found []Object, err error) {
	path, query := strings.ReplaceAll(find.path, "ID", url.PathEscape(name)), url.Values{}
	if find.query != "" {
		if query, err = url.ParseQuery(strings.ReplaceAll(find.query, "ID", url.QueryEscape(name))); err != nil {
			panic(err)
		}
	}
	if find.list {
		for objects, err := range c.pages(ctx, path, query) {
			if err != nil {
				return nil, unlessUnknown(err)
			}
			found = append(found, objects...)
		}
		return found, nil
	}
	var raw json.RawMessage
	if err := c.Get(ctx, path, query, &raw); err != nil {
		return nil, unlessUnknown(err)
	}
	return c.read(raw)
}

// unlessUnknown returns nil for an error that says that the provider does not know a name. Another error can be about
// the request, and says nothing of the name.
func unlessUnknown(err error) error {
	var failed *Error
	if errors.As(err, &failed) && failed.Status == http.StatusNotFound {
		return nil
	}
	return err
}

// read reads one object, which can say several things.
func (c *Client) read(raw json.RawMessage) (out []Object, err error) {
	fields := fieldsOf(raw)
	if fields == nil {
		return nil, fmt.Errorf("%s listed something that is not a JSON object", c.Provider)
	}
	id := textAt(fields, "id")
	for _, r := range c.objects.read(raw) {
		event, err := providers.Named(c.Provider).Parse([]byte(r.body), id)
		if err != nil {
			return nil, fmt.Errorf("read the %s %q that %s listed: %w", r.kind, id, c.Provider, err)
		}
		for path := range strings.FieldsSeq(r.made) {
			if at := timeAt(fields, path); !at.IsZero() {
				event.OccurredAt = at
				break
			}
		}
		object := Object{
			Kind: r.kind, ID: id, Event: event, Amounts: r.amounts,
			Changed: event.OccurredAt,
		}
		for path := range strings.FieldsSeq(r.changed) {
			if at := timeAt(fields, path); at.After(object.Changed) && !at.After(time.Now()) {
				object.Changed = at
			}
		}
		out = append(out, object)
	}
	return out, nil
}

// fieldsOf returns the fields of an object; nil if it is none.
func fieldsOf(raw json.RawMessage) (fields map[string]any) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if decoder.Decode(&fields) != nil {
		return nil
	}
	return fields
}

// at returns the value at a path of keys, or nil.
func at(fields map[string]any, path string) any {
	var value any = fields
	for key := range strings.SplitSeq(path, ".") {
		object, is := value.(map[string]any)
		if !is {
			return nil
		}
		value = object[key]
	}
	return value
}

func textAt(fields map[string]any, path string) string {
	text, _ := at(fields, path).(string)
	return text
}

// timeAt reads a time: a text, or a number of seconds or milliseconds since 1970; zero if there is none.
func timeAt(fields map[string]any, path string) time.Time {
	switch value := at(fields, path).(type) {
	case string:
		read, err := time.Parse(time.RFC3339Nano, value)
		if err != nil {
			return time.Time{}
		}
		return read.UTC()
	case json.Number:
		number, err := value.Int64()
		switch {
		case err != nil, number <= 0:
			return time.Time{}
		case number > maxSeconds:
			return time.UnixMilli(number).UTC()
		}
		return time.Unix(number, 0).UTC()
	}
	return time.Time{}
}

// maxSeconds is in the year 5138 as seconds, and in 1973 as milliseconds.
const maxSeconds = 100_000_000_000
