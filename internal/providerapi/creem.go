package providerapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// creem has no list of its events. An endpoint of the mode cli keeps what it would send until that is acknowledged.
var creem = &api{
	url: "https://api.creem.io", size: url.Values{"page_size": {"100"}}, list: itemsOf,
	authorize: func(header http.Header, key string) { header.Set("X-Api-Key", key) },
	next: func(query url.Values, p *page) error {
		next := string(p.Pagination.NextPage)
		switch number, err := strconv.Atoi(next); {
		case next == "null":
			return errLast
		case err != nil:
			return errNotSaid
		default:
			query.Set("page_number", fmt.Sprint(number))
			return nil
		}
	},
	feed: feed{events: creemPending},
}

// creemPendingMost is the most that one answer has of the pending events.
const creemPendingMost = 100

// creemPending asks for the oldest pending events until none is new. Those that were acknowledged have left the feed. It
// ends with an error if those that stay can hide newer ones.
func creemPending(ctx context.Context, c *Client, _ time.Time) iter.Seq2[[]Event, error] {
	return func(yield func([]Event, error) bool) {
		path, seen := "/v1/webhooks/"+url.PathEscape(c.WebhookID)+"/events", map[string]bool{}
		for {
			var pending page
			if err := c.Get(ctx, path+"/pending", url.Values{"limit": {fmt.Sprint(creemPendingMost)}}, &pending); err != nil {
				yield(nil, err)
				return
			}
			if pending.Items == nil {
				yield(nil, errors.New("creem: the answer has no list of pending events"))
				return
			}
			var list []Event
			for _, item := range pending.Items {
				e := c.creemEvent(path, item)
				if key := cmp.Or(e.ID, string(item)); !seen[key] {
					seen[key] = true
					list = append(list, e)
				}
			}
			if len(list) == 0 && len(pending.Items) >= creemPendingMost {
				yield(nil, fmt.Errorf("creem: %d pending events cannot be acknowledged, and may hide newer ones", len(pending.Items)))
				return
			}
			if len(list) == 0 || !yield(list, nil) {
				return
			}
		}
	}
}

func (c *Client) creemEvent(path string, item json.RawMessage) Event {
	var read struct {
		ID      string            `json:"id"`
		At      string            `json:"created_at"`
		Body    string            `json:"body"`
		Headers map[string]string `json:"headers"`
	}
	_ = json.Unmarshal(item, &read) // a value of another type is left out
	if read.ID == "" {
		return Event{Body: item} // which is no event
	}
	at, _ := time.Parse(time.RFC3339, read.At) // zero if it cannot be read
	e := Event{ID: read.ID, Body: []byte(read.Body), At: at.UTC(), Header: http.Header{}}
	for name, value := range read.Headers {
		e.Header.Add(name, value)
	}
	e.acknowledge = func(ctx context.Context, status int, said string) error {
		answer := struct {
			Status int    `json:"status_code"`
			Said   string `json:"response_body"`
		}{status, said}
		return c.Post(ctx, path+"/"+url.PathEscape(read.ID)+"/ack", answer, new(json.RawMessage))
	}
	return e
}
