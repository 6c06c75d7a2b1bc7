package console

import (
	"context"
	"net/http"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/report/browse"
	"github.com/payfold/payfold/internal/store"
)

// rowList is a list of rows, as a page and as CSV.
type rowList[R any] struct {
	rows            *browse.Rows[R]
	template, title string
	filters         []string // the parameters of its filter
}

// rowsPage is a page of a list, with the filter that its form shows.
type rowsPage[R any] struct {
	browse.RowList[R]
	Asked    map[string]string `json:"-"` // as it was typed
	After    string            `json:"-"`
	Statuses []string          `json:"-"`
	Kinds    []string          `json:"-"`
}

// statuses are those of subscriptions, those that need somebody first.
var statuses = []string{
	events.PastDue, events.Unpaid, events.Incomplete, events.ScheduledCancel, events.Paused, events.Trialing, events.Active,
	events.Canceled, events.Expired,
}

var payments = rowList[browse.PaymentItem]{
	rows: browse.Payments, template: "payments.html", title: "Payments",
	filters: []string{"product", "kind", "provider", "refunded", "from", "to"},
}

var subscriptions = rowList[browse.SubscriptionItem]{
	rows: browse.Subscriptions, template: "subscriptions.html", title: "Subscriptions",
	filters: []string{"status", "product", "kind", "provider", "ends_before", "from", "to"},
}

var customers = rowList[browse.CustomerItem]{
	rows: browse.Customers, template: "customers.html", title: "Customers",
	filters: []string{"status", "product", "ends_before"},
}

// list serves a list as a page and as CSV.
func list[R any](c *Console, mux *http.ServeMux, path string, l rowList[R]) {
	of := chosen(append(l.filters, "limit", "after", "format")...)
	withCSV(c, mux, path, of, c.ofTables(l.page), func(ctx context.Context, asked query, tables *store.Store, write func([]R) error) error {
		f, err := l.filter(asked)
		if err != nil {
			return err
		}
		return l.rows.Each(ctx, tables, f, write)
	})
}

func (l rowList[R]) page(r *http.Request, asked query, tables *store.Store) (view, error) {
	f, err := l.filter(asked)
	if err != nil {
		return view{}, err
	}
	found, err := l.rows.Page(r.Context(), tables, f, asked.limit)
	typed := map[string]string{}
	for _, name := range l.filters {
		typed[name] = asked.Get(name)
	}
	return view{l.template, l.title, found.Moment, rowsPage[R]{found, typed, f.After, statuses, kinds}, nil}, err
}

// filter reads the filter of the list.
func (l rowList[R]) filter(q query) (f browse.RowFilter, err error) {
	f = browse.RowFilter{
		Status: q.Get("status"), Product: q.Get("product"), Kind: q.Get("kind"), Provider: q.Get("provider"),
		Refunded: q.Get("refunded"), After: q.Get("after"),
	}
	if f.EndsBefore, err = q.time("ends_before"); err != nil {
		return f, err
	}
	if f.From, err = q.time("from"); err != nil {
		return f, err
	}
	f.To, err = q.time("to")
	return f, err
}
