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

// query has the parameters that every page takes.
type query struct {
	url.Values
	schema string // empty: the live schema
	zone   *time.Location
}

func (c *Console) queryOf(r *http.Request) query {
	values := r.URL.Query()
	return query{values, values.Get("schema"), c.clock.zone}
}

// choices are the values of the parameters that have no others.
var choices = map[string][]string{"status": statuses, "kind": kinds, "refunded": {"yes", "no"}, "format": {"csv"}}

// only refuses any other parameter, because a list without its filter would show more than was asked for. It also
// refuses a value that a parameter cannot have.
func (q query) only(names ...string) error {
	for name := range q.Values {
		if !slices.Contains(names, name) {
			return fmt.Errorf("%w: this list has no parameter %s", errBadValue, page.Name(name))
		}
		if of, limited := choices[name]; limited && q.Get(name) != "" && !slices.Contains(of, q.Get(name)) {
			return fmt.Errorf("%w: %s is one of %s", errBadValue, name, strings.Join(of, ", "))
		}
	}
	return nil
}

var errBadValue = errors.New("the address has a value that cannot be read")

var errFormat = fmt.Errorf("%w: format is csv, or absent", errBadValue)

// Lists show defaultLimit of their newest items, or as many as ?limit= says, up to maxLimit.
const (
	defaultLimit = 100
	maxLimit     = 1000
)

// limit returns the number of items that the address asks for.
func (q query) limit() (int, error) { return q.number("limit", defaultLimit, maxLimit) }

// number returns a number of the address, from 1 to highest; absent if the address has none.
func (q query) number(name string, absent, highest int) (int, error) {
	text := q.Get(name)
	if text == "" {
		return absent, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > highest {
		return 0, fmt.Errorf("%w: %s is a number from 1 to %d", errBadValue, name, highest)
	}
	return n, nil
}

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
