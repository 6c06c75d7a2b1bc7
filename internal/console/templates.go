package console

import (
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/payfold/payfold/internal/invitations"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/report/explain"
	"github.com/payfold/payfold/internal/report/page"
	"github.com/payfold/payfold/internal/report/status"
)

//go:embed templates
var sources embed.FS

// pages has one template for each page, and the templates that pages share.
var pages = template.Must(template.New("").Funcs(template.FuncMap{
	"at":     at,
	"clean":  page.Clean,
	"digits": digits,
	"signed": func(n int64) string { return fmt.Sprintf("%+d", n) },
	"money":  money,
	"why":    explain.Why,
	"explain": func(e projections.ProcessedEvent, why string) explain.WithWhy {
		return explain.WithWhy{ProcessedEvent: e, Why: why}
	},
	"ago":      ago,
	"seconds":  func(s float64) string { return duration(time.Duration(s * float64(time.Second))) },
	"implicit": func(id string) bool { return strings.HasPrefix(id, projections.ImplicitSubscription("")) },
	"mask":     mask,
	"balances": balances,
	"has":      func(l explain.Lines) bool { return len(l.Items) > 0 || l.Earlier > 0 || l.More },
	"counted":  page.Count[int64],
	"clause":   page.Clause[int64],

	"noProjector":    func() string { return noProjector },
	"replicasBehind": replicasBehind,

	"number":   func(n int) int64 { return int64(n) },
	"day":      func(t time.Time) string { return t.UTC().Format(time.DateOnly) },
	"counting": func(list any) bool { return reflect.ValueOf(list).IsNil() },
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

// mask shows only the first character of a name.
func mask(show bool, text string) string {
	text = page.Clean(text)
	if show || text == "" {
		return text
	}
	return string([]rune(text)[:1]) + "•••"
}

// hidePersonalData replaces the database's errors about quarantined events: they may repeat names and
// bodies.
func (c *Console) hidePersonalData(refused []status.Quarantined) {
	if c.ShowPersonalData {
		return
	}
	for i := range refused {
		refused[i].Error = "masked; a console with CONSOLE_SHOW_PERSONAL_DATA=true shows it"
	}
}

// gitHubName matches every text that can be the name of a GitHub user.
var gitHubName = regexp.MustCompile(`[A-Za-z0-9_-]+`)

// hideNames masks the name of an invitation's GitHub user in the invitation's reason, which has GitHub's words.
func (c *Console) hideNames(list []invitations.Invitation) {
	for i := range list {
		c.hideName(&list[i])
	}
}

func (c *Console) hideName(one *invitations.Invitation) {
	if one.Reason != nil && one.GitHubUser != nil {
		one.Reason = new(c.withoutName(*one.Reason, *one.GitHubUser))
	}
}

func (c *Console) withoutName(text, name string) string {
	return gitHubName.ReplaceAllStringFunc(text, func(word string) string {
		return mask(c.ShowPersonalData || !strings.EqualFold(word, name), word)
	})
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

// gitHubNames matches the fields of JSON that contain names of people.
var gitHubNames = regexp.MustCompile(`("(?:sold_)?github_username":")((?:[^"\\]|\\.)*)(")`)

// maskNames is mask for JSON.
func maskNames(text []byte) []byte {
	return gitHubNames.ReplaceAllFunc(text, func(found []byte) []byte {
		parts := gitHubNames.FindSubmatch(found)
		var name string
		if json.Unmarshal(slices.Concat([]byte(`"`), parts[2], parts[3]), &name) != nil {
			name = "?" // the name is masked even if it cannot be read
		}
		masked, _ := page.Marshal(mask(false, name)) // never fails for a text
		return slices.Concat(parts[1][:len(parts[1])-1], masked)
	})
}
