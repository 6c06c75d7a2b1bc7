package providerapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"slices"
)

// api is how the API of one provider is asked.
type api struct {
	url       string
	authorize func(header http.Header, key string)
	size      url.Values                            // asks for pages of the largest size
	list      func(*page) []json.RawMessage         // nil if the answer is no page
	next      func(query url.Values, p *page) error // changes the query to that of the next page, or returns errLast
	feed      feed
}

var apis = map[string]*api{"creem": creem, "paddle": paddle, "polar": polar, "stripe": stripe}

// Names lists the providers whose API can be asked.
func Names() []string { return slices.Sorted(maps.Keys(apis)) }

// page has the fields of a page in all APIs.
type page struct {
	Data    []json.RawMessage `json:"data"`
	Items   []json.RawMessage `json:"items"`
	HasMore *bool             `json:"has_more"`
	Meta    struct {
		Pagination struct {
			HasMore *bool  `json:"has_more"`
			Next    string `json:"next"`
		} `json:"pagination"`
	} `json:"meta"`
	Pagination struct {
		MaxPage  *int            `json:"max_page"`
		NextPage json.RawMessage `json:"next_page"` // null on the last page
	} `json:"pagination"`
}

var (
	errLast    = errors.New("this page is the last")
	errNotSaid = errors.New("the answer does not say whether there are more pages")
)

// isLast returns an error if there is no page after this one, or if the answer does not say that.
func isLast(hasMore *bool) error {
	switch {
	case hasMore == nil:
		return errNotSaid
	case !*hasMore:
		return errLast
	}
	return nil
}

// Pages asks for a list, and yields each page as the JSON of its objects, in the order of the API. The objects are valid
// until the next page. An error ends it; then the list is not complete.
func (c *Client) Pages(ctx context.Context, path string, query url.Values) iter.Seq2[[]json.RawMessage, error] {
	return func(yield func([]json.RawMessage, error) bool) {
		query = maps.Clone(query)
		if query == nil {
			query = url.Values{}
		}
		maps.Copy(query, c.api.size)
		asked := map[string]bool{}
		for {
			var p page
			if err := c.Get(ctx, path, query, &p); err != nil {
				yield(nil, err)
				return
			}
			list := c.api.list(&p)
			if list == nil {
				yield(nil, fmt.Errorf("%s: GET %s: the answer has no list", c.Provider, path))
				return
			}
			if len(list) > 0 && !yield(list, nil) {
				return
			}
			asked[query.Encode()] = true
			err := c.api.next(query, &p)
			if errors.Is(err, errLast) {
				return
			}
			if err == nil && asked[query.Encode()] {
				err = errors.New("the page names one as the next that was read already")
			}
			if err != nil {
				yield(nil, fmt.Errorf("%s: GET %s: %w", c.Provider, path, err))
				return
			}
		}
	}
}

func bearer(header http.Header, key string) { header.Set("Authorization", "Bearer "+key) }

func dataOf(p *page) []json.RawMessage  { return p.Data }
func itemsOf(p *page) []json.RawMessage { return p.Items }

// lastID returns the id of the last object of a page.
func lastID(list []json.RawMessage) (string, error) {
	var last struct {
		ID string `json:"id"`
	}
	if len(list) == 0 {
		return "", errors.New("an empty page says that there are more")
	}
	err := json.Unmarshal(list[len(list)-1], &last)
	if err == nil && last.ID == "" {
		err = errors.New("the last object of a page has no id")
	}
	return last.ID, err
}
