package providerapi

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// Event is one event that an API gave.
type Event struct {
	ID     string      // as a delivery has it; empty if it cannot be read
	Body   []byte      // as a delivery has it, or the API's JSON of the event; nil if the provider has it no longer
	Header http.Header // of a delivery; nil if the API gives none
	At     time.Time   // when it happened or was sent, by the provider's clock; zero if it cannot be read

	acknowledge func(ctx context.Context, status int, said string) error
}

// Acknowledge tells the API how the event was answered: 200 means that it is stored, so call it only after the event is
// durable. The first call counts. If the events of the API need no answer, it does nothing.
func (e *Event) Acknowledge(ctx context.Context, status int, said string) error {
	if e.acknowledge == nil {
		return nil
	}
	return e.acknowledge(ctx, status, said)
}

// feed is how the events of one API are asked for.
type feed struct {
	kept   time.Duration // how long the provider keeps the body of an event; 0: until the event is acknowledged
	events func(ctx context.Context, c *Client, since time.Time) iter.Seq2[[]Event, error]
}

// Kept is how long the provider keeps the body of an event; 0 means until the event is acknowledged.
func (c *Client) Kept() time.Duration { return c.api.feed.kept }

// Events yields the events since a time, page after page; the newest page comes first. It can repeat events, and yield
// older ones. Events that have to be acknowledged come oldest first, whenever they happened, and each once. An error ends
// it; then there may be more events.
func (c *Client) Events(ctx context.Context, since time.Time) iter.Seq2[[]Event, error] {
	return c.api.feed.events(ctx, c, since)
}

// newestFirst asks for a list of events. It ends after a page that has only events before since, also if the API itself
// does not end its list there.
func newestFirst(
	path string, query func(since time.Time) url.Values, read func(json.RawMessage) Event,
) func(context.Context, *Client, time.Time) iter.Seq2[[]Event, error] {
	return func(ctx context.Context, c *Client, since time.Time) iter.Seq2[[]Event, error] {
		return func(yield func([]Event, error) bool) {
			for objects, err := range c.Pages(ctx, path, query(since)) {
				if err != nil {
					yield(nil, err)
					return
				}
				page, older := make([]Event, len(objects)), true
				for i, object := range objects {
					page[i] = read(object)
					older = older && !page[i].At.IsZero() && page[i].At.Before(since)
				}
				if !yield(page, nil) || older {
					return
				}
			}
		}
	}
}

// eventWith reads an event that has its id and its time under these keys.
func eventWith(id, at string) func(json.RawMessage) Event {
	return func(object json.RawMessage) Event {
		fields := fieldsOf(object)
		return Event{ID: textAt(fields, id), Body: object, At: timeAt(fields, at)}
	}
}
