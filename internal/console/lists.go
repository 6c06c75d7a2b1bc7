package console

import (
	"context"
	"net/http"
	"strings"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/report/browse"
	"github.com/payfold/payfold/internal/store"
)

// rowList is a list of rows, as a page and as CSV.
type rowList[R any] struct {
	rows            *browse.Rows[R]
	template, title string
	filters         []string // the parameters of its filter
	header          []string
	cells           func(R) []string // of a row in CSV; texts go through text
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
	header: strings.Split("payment,customer,kind,product,amount_minor,refunded_minor,currency,credits,"+
		"fully_reversed_utc,occurred_utc,provider,event,seq", ","),
	cells: func(p browse.PaymentItem) []string {
		return []string{
			text(p.ID), text(p.UserID), text(p.Kind), text(p.Product), number(p.Amount), number(p.Refunded), text(p.Currency),
			number(p.Credits), utc(p.ReversedAt), utc(&p.OccurredAt), text(p.Provider), text(p.EventID), number(&p.StreamSeq),
		}
	},
}

var subscriptions = rowList[browse.SubscriptionItem]{
	rows: browse.Subscriptions, template: "subscriptions.html", title: "Subscriptions",
	filters: []string{"status", "product", "kind", "provider", "ends_before", "from", "to"},
	header:  strings.Split("subscription,customer,status,product,kind,period_end_utc,status_since_utc,provider,event", ","),
	cells: func(s browse.SubscriptionItem) []string {
		return []string{
			text(s.ID), text(s.UserID), text(s.Status), text(s.Product), text(s.Kind), utc(s.PeriodEnd), utc(s.OccurredAt),
			text(s.Provider), text(s.EventID),
		}
	},
}

var customers = rowList[browse.CustomerItem]{
	rows: browse.Customers, template: "customers.html", title: "Customers",
	filters: []string{"status", "product", "ends_before"},
	header:  strings.Split("customer,status,product,period_end_utc,credits_of_packs,licence", ","),
	cells: func(c browse.CustomerItem) []string {
		return []string{text(c.UserID), text(c.Status), text(c.Product), utc(c.PeriodEnd), number(c.Packs), text(c.License)}
	},
}

// list serves a list as a page and as CSV.
func list[R any](c *Console, mux *http.ServeMux, path string, l rowList[R]) {
	of := chosen(append(l.filters, "limit", "after", "format")...)
	c.routeWithCSV(mux, path, of, c.ofTables(l.page), l.header, func(ctx context.Context, asked query, tables *store.Store, write writeRows) error {
		f, err := l.filter(asked)
		if err != nil {
			return err
		}
		return l.rows.Each(ctx, tables, f, func(rows []R) error {
			var cells [][]string
			for _, row := range rows {
				cells = append(cells, l.cells(row))
			}
			return write(cells)
		})
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
