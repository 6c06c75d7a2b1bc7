package providerapi

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"time"
)

// polar numbers its pages. A list of its deliveries has the newest first, so a delivery that is added moves others to the
// next page, and none is passed over.
var polar = &api{
	url: "https://api.polar.sh", authorize: bearer, size: url.Values{"limit": {"100"}}, list: itemsOf,
	next: func(query url.Values, p *page) error {
		number, err := strconv.Atoi(query.Get("page"))
		if err != nil {
			number = 1
		}
		switch {
		case p.Pagination.MaxPage == nil:
			return errNotSaid
		case number >= *p.Pagination.MaxPage || len(p.Items) == 0:
			return errLast
		}
		query.Set("page", fmt.Sprint(number+1))
		return nil
	},
	feed: feed{
		kept: 30 * day,
		events: newestFirst("/v1/webhooks/deliveries", func(since time.Time) url.Values {
			return url.Values{"start_timestamp": {since.UTC().Format(time.RFC3339Nano)}}
		}, polarDelivery),
	},
}

// polarDelivery reads one attempt to deliver an event. The event's id is what its deliveries have in webhook-id.
func polarDelivery(object json.RawMessage) Event {
	var read struct {
		At    time.Time `json:"created_at"`
		Event struct {
			ID      string  `json:"id"`
			Payload *string `json:"payload"` // null once it is archived
		} `json:"webhook_event"`
	}
	if json.Unmarshal(object, &read) != nil || read.Event.ID == "" {
		return Event{Body: object} // which is no event
	}
	e := Event{ID: read.Event.ID, At: read.At.UTC()}
	if read.Event.Payload != nil {
		e.Body = []byte(*read.Event.Payload)
	}
	return e
}
