package providerapi

import (
	"errors"
	"net/http"
	"net/url"
	"time"
)

// paddle names the address of the next page. Only its query is used: the key goes to no other address.
var paddle = &api{
	url: "https://api.paddle.com", size: url.Values{"per_page": {"200"}}, list: dataOf,
	authorize: func(header http.Header, key string) {
		bearer(header, key)
		header.Set("Paddle-Version", "1")
	},
	next: func(query url.Values, p *page) error {
		if err := isLast(p.Meta.Pagination.HasMore); err != nil {
			return err
		}
		next, err := url.Parse(p.Meta.Pagination.Next)
		if err != nil || next.Query().Get("after") == "" {
			return errors.New("the page does not name the next one")
		}
		query.Set("after", next.Query().Get("after"))
		return nil
	},
	feed: feed{
		kept: 90 * day,
		events: newestFirst("/events", func(time.Time) url.Values {
			return url.Values{"order_by": {"id[DESC]"}}
		}, eventWith("event_id", "occurred_at")),
	},
}
