package console

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/payfold/payfold/internal/report/explain"
	"github.com/payfold/payfold/internal/report/page"
)

// query has the parameters of an address.
type query struct {
	url.Values
	schema string // empty: the live schema
	zone   *time.Location
	limit  int // of the items of a list
}

// parameters are those of a page, besides schema, with the values that each may have; nil: any.
type parameters map[string][]string

// choices are the values of the parameters that have no others.
var choices = parameters{"status": statuses, "kind": kinds, "refunded": {"yes", "no"}, "format": {"csv"}}

// chosen are parameters that may have their choices.
func chosen(names ...string) parameters {
	out := parameters{}
	for _, name := range names {
		out[name] = choices[name]
	}
	return out
}

// Lists show defaultLimit of their newest items, or as many as ?limit= says, up to maxLimit.
const (
	defaultLimit = 100
	maxLimit     = 1000
)

// queryOf reads an address. The error names a parameter that the page does not have, because a list without its filter
// would show more than was asked for, or one whose value it cannot have.
func (c *Console) queryOf(r *http.Request, of parameters) (query, error) {
	values := r.URL.Query()
	q := query{values, values.Get("schema"), c.clock.zone, defaultLimit}
	for name := range values {
		allowed, has := of[name]
		value := values.Get(name)
		switch {
		case !has && name != "schema":
			return q, fmt.Errorf("%w: this page has no parameter %s", errBadValue, page.Name(name))
		case allowed != nil && value != "" && !slices.Contains(allowed, value):
			return q, fmt.Errorf("%w: %s is one of %s", errBadValue, name, strings.Join(allowed, ", "))
		case name == "limit" && value != "":
			var err error
			if q.limit, err = strconv.Atoi(value); err != nil || q.limit < 1 || q.limit > maxLimit {
				return q, fmt.Errorf("%w: limit is a number from 1 to %d", errBadValue, maxLimit)
			}
		}
	}
	return q, nil
}

var errBadValue = errors.New("the address has a value that cannot be read")

// before returns the sequence before which the page ends; 0 if the address has none.
func (q query) before() (int64, error) {
	before, err := explain.ParseSequence(q.Get("before"))
	if err != nil {
		return 0, fmt.Errorf("%w: before: %w", errBadValue, err)
	}
	return before, nil
}

// place returns where a page of a history ends.
func (q query) place() (explain.Place, error) {
	place, err := explain.ParsePlace(q.Get("before"), q.Get("clock"), q.zone)
	if err != nil {
		return place, fmt.Errorf("%w: before: %w", errBadValue, err)
	}
	return place, nil
}

// time returns a time of the address, in the shop's time zone if it names none; the zero time if the address has none.
func (q query) time(name string) (time.Time, error) {
	text := q.Get(name)
	if text == "" {
		return time.Time{}, nil
	}
	if t, ok := page.ParseTime(text, q.zone); ok {
		return t, nil
	}
	return time.Time{}, fmt.Errorf("%w: %s is a time such as 2026-01-31 or 2026-01-31T12:00:00Z", errBadValue, name)
}
