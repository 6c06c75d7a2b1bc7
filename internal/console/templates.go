package console

import (
	"embed"
	"fmt"
	"html/template"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/report/attention"
	"github.com/payfold/payfold/internal/report/browse"
	"github.com/payfold/payfold/internal/report/explain"
	"github.com/payfold/payfold/internal/report/page"
)

//go:embed templates
var sources embed.FS

// pages has one template for each page, and the templates that pages share. A Console executes a copy, in which times are
// written by its clock.
var pages = parse(template.New("").Funcs(template.FuncMap{
	"at":          clock{}.at,
	"exact":       clock{}.exact,
	"daysAgo":     clock{}.daysAgo,
	"monthBegin":  clock{}.monthBegin,
	"clean":       page.Clean,
	"split":       func(command string) []string { return strings.Split(page.Clean(command), " ") },
	"quoted":      quoted,
	"words":       words,
	"digits":      digits,
	"whole":       whole,
	"signed":      page.Signed,
	"money":       money,
	"ago":         ago,
	"seconds":     func(s float64) string { return page.Duration(time.Duration(s * float64(time.Second))) },
	"implicit":    func(id string) bool { return strings.HasPrefix(id, projections.ImplicitSubscription("")) },
	"mask":        mask,
	"noteMeaning": explain.NoteMeaning,
	"unclaimed":   func(p *explain.Payment) string { return explain.NotClaimed(p.Payment, "buyer") },
	"counted":     func(n any, thing string) string { return page.Count(integer(n), thing) },
	"clause":      func(n any, thing, one, many string) string { return page.Clause(integer(n), thing, one, many) },

	"foldGrants":   foldGrants,
	"foldPayments": foldPayments,
	"nonzero":      func(digits string) string { return strings.TrimPrefix(digits, "0") },
	"grouped":      page.Grouped,
	"meaning":      meaning,
	"completeIt":   func() string { return browse.CompleteIt },

	"percent":  percent,
	"sum":      sumOf,
	"preset":   func(s browse.Step) string { return presets[s] },
	"month":    func(t *time.Time) string { return t.Format("2006-01") },
	"kindName": kindName,
	"choices":  func(name string) []string { return choices[name] },

	"compared":       nothingDiffers,
	"noProjector":    func() string { return attention.NoProjector },
	"replicasBehind": attention.ReplicasBehind,

	"day":     func(t time.Time) string { return t.Format(time.DateOnly) },
	"lastDay": func(end time.Time) string { return end.AddDate(0, 0, -1).Format(time.DateOnly) },
}))

// parse adds the templates of all files. Each cell of a table gets its column's heading, for narrow windows.
func parse(all *template.Template) *template.Template {
	files, err := sources.ReadDir("templates")
	for _, file := range files {
		var text []byte
		if text, err = sources.ReadFile("templates/" + file.Name()); err != nil {
			break
		}
		template.Must(all.New(file.Name()).Parse(labelled(string(text))))
	}
	return template.Must(all, err)
}

// quotedPart is a part of a sentence: words, or a command that was between backquotes.
type quotedPart struct {
	Text    string
	Command bool
}

// quoted cuts a sentence at its backquotes.
func quoted(sentence string) (out []quotedPart) {
	for i, text := range strings.Split(sentence, "`") {
		out = append(out, quotedPart{text, i%2 == 1})
	}
	return out
}

// words is page.Words of a text of any type.
func words(name any) string { return page.Words(fmt.Sprint(name)) }

// noValue stands for what there is none of. The style sheet shows a dash in an empty cell of a wide window, and leaves the
// cell out of a card.
const noValue = ""

// with returns a copy of the templates that writes times and dates by the clock.
func with(c clock) *template.Template {
	return template.Must(pages.Clone()).Funcs(template.FuncMap{
		"at": c.at, "exact": c.exact, "daysAgo": c.daysAgo, "monthBegin": c.monthBegin,
	})
}

// digits formats a whole number, or a pointer to one, in plain digits; nil is nothing.
func digits(n any) string {
	value := reflect.ValueOf(n)
	if value.Kind() == reflect.Pointer {
		if value.IsNil() {
			return noValue
		}
		value = value.Elem()
	}
	return fmt.Sprint(value.Interface())
}

// integer is a number of things.
func integer(n any) int64 {
	if value := reflect.ValueOf(n); value.CanInt() {
		return value.Int()
	}
	return int64(reflect.ValueOf(n).Uint())
}

// whole is digits with separators of thousands.
func whole(n any) string {
	text := digits(n)
	if value, err := strconv.ParseInt(text, 10, 64); err == nil {
		return page.Grouped(value)
	}
	return text
}

// money formats an amount in a currency's minor unit: a whole number, a pointer to one, or a sum; nil is nothing.
func money(amount any, currency string) string {
	text := digits(amount)
	if text == noValue {
		return noValue
	}
	return page.MoneyOf(text, currency)
}

// ago says how long before now a time is, roughly.
func ago(now, t time.Time) string {
	if t.IsZero() {
		return noValue
	}
	return relative(now.Sub(t))
}

var (
	tableParts = regexp.MustCompile(`(?s)<table[^>]*>.*?</table>`)
	headings   = regexp.MustCompile(`(?s)<th scope="col"[^>]*>(.*?)</th>`)
	terms      = regexp.MustCompile(`{{template "term" "(.*?)"}}`)
	bodyRows   = regexp.MustCompile(`(?s)<tr>.*?</tr>`)
	cells      = regexp.MustCompile(`<td[ >]`)
)

// labelled gives each cell of a template's tables the heading of its column as data-label. In a narrow window the style
// sheet makes a card of each row, and shows these labels.
func labelled(source string) string {
	return tableParts.ReplaceAllStringFunc(source, func(table string) string {
		head, body, found := strings.Cut(table, "</thead>")
		if !found {
			return table
		}
		var names []string
		for _, heading := range headings.FindAllStringSubmatch(head, -1) {
			names = append(names, terms.ReplaceAllString(heading[1], "$1"))
		}
		body = bodyRows.ReplaceAllStringFunc(body, func(row string) string {
			column := -1
			return cells.ReplaceAllStringFunc(row, func(cell string) string {
				if column++; column >= len(names) {
					return cell
				}
				return `<td data-label="` + names[column] + `"` + strings.TrimPrefix(cell, "<td")
			})
		})
		return head + "</thead>" + body
	})
}
