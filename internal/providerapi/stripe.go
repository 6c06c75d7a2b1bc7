package providerapi

import (
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// stripeVersion is the first version of the API in which an invoice has its payments. Without a version Stripe answers
// in that of the account, and an older one refuses to expand them.
const stripeVersion = "2025-03-31.basil"

// stripe lists newest first; the next page begins after the last object of this one. An event has the shape of the
// version in which it was made, whatever version is asked for.
var stripe = &api{
	url: "https://api.stripe.com", size: url.Values{"limit": {"100"}}, list: dataOf,
	authorize: func(header http.Header, key string) {
		bearer(header, key)
		header.Set("Stripe-Version", stripeVersion)
	},
	next: func(query url.Values, p *page) error {
		if err := isLast(p.HasMore); err != nil {
			return err
		}
		last, err := lastID(p.Data)
		query.Set("starting_after", last)
		return err
	},
	feed: feed{
		kept: 30 * day,
		events: newestFirst("/v1/events", func(since time.Time) url.Values {
			return url.Values{"created[gte]": {fmt.Sprint(since.Unix())}}
		}, eventWith("id", "created")),
	},
}
