package console

import (
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"reflect"
	"strings"
	"time"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/report/explain"
	"github.com/payfold/payfold/internal/report/page"
	"github.com/payfold/payfold/internal/report/status"
)

//go:embed templates
var sources embed.FS

// pages has one template for each page, and the templates that pages share.
var pages = template.Must(template.New("").Funcs(template.FuncMap{
	"at":          at,
	"clean":       page.Clean,
	"digits":      digits,
	"signed":      func(n int64) string { return fmt.Sprintf("%+d", n) },
	"money":       money,
	"ago":         ago,
	"seconds":     func(s float64) string { return duration(time.Duration(s * float64(time.Second))) },
	"implicit":    func(id string) bool { return strings.HasPrefix(id, projections.ImplicitSubscription("")) },
	"mask":        mask,
	"balances":    balances,
	"noteMeaning": explain.NoteMeaning,
	"unclaimed":   func(p *projections.Payment) string { return explain.NotClaimed(*p, "buyer") },
	"counted":     page.Count[int64],
	"clause":      page.Clause[int64],

	"noProjector":    func() string { return noProjector },
	"replicasBehind": replicasBehind,

	"number": func(n int) int64 { return int64(n) },
	"day":    func(t time.Time) string { return t.UTC().Format(time.DateOnly) },
	"rejections": func(list []status.OutcomeCount) (sum int64) {
		for _, count := range list {
			if count.Reason != "" {
				sum += count.Events
			}
		}
		return sum
	},
}).ParseFS(sources, "templates/*.html"))

// at formats a time; the zero time is a dash.
func at(t time.Time) string { return cmp.Or(page.Time(t), "–") }

// digits formats a whole number, or a pointer to one, in plain digits; nil is a dash.
func digits(n any) string {
	value := reflect.ValueOf(n)
	if value.Kind() == reflect.Pointer {
		if value.IsNil() {
			return "–"
		}
		value = value.Elem()
	}
	return fmt.Sprint(value.Interface())
}

// money formats an amount in the currency's minor unit, as the provider sends it.
func money(amount *int64, currency string) string {
	if amount == nil {
		return "–"
	}
	return page.Money(*amount, currency)
}

// ago says how long before now a time is, roughly.
func ago(now, t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return duration(now.Sub(t)) + " ago"
}

// duration is a time in the largest unit that is at least 1.
func duration(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// balanceLine is a ledger line with the sum of all lines up to it.
type balanceLine struct {
	projections.LedgerLine
	Sum *int64 // nil: not known
}

// balances adds the sums.
func balances(l explain.Lines) (out []balanceLine) {
	sum := l.EarlierSum
	for _, line := range l.Items {
		sum += line.Delta
		with := balanceLine{LedgerLine: line}
		if !l.NotSummed {
			with.Sum = new(sum)
		}
		out = append(out, with)
	}
	return out
}
