package projections

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/providers"
)

var anyMode = Rules{Mode: ModeAny}

// receivedAt is later than every time in the fixtures, so that those count.
var receivedAt = time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)

// fold folds the bodies into empty tables. The bodies are the whole log.
func fold(t *testing.T, bodies ...string) *State {
	t.Helper()
	return foldInto(t, NewState(), anyMode, bodies...)
}

func foldInto(t *testing.T, s *State, rules Rules, bodies ...string) *State {
	t.Helper()
	for _, body := range bodies {
		seq := uint64(len(s.Events.Inserted()) + len(s.Duplicates) + 1)
		rules.Fold(s, providers.Decode(events.Message{Provider: "provider", Seq: seq, ID: "raw", Body: []byte(body), ReceivedAt: receivedAt}))
	}
	return s
}

// foldOrder folds the events of a log into empty tables, in an order of their arrival, which has their indexes.
func foldOrder(rules Rules, log []events.Event, order []int) *State {
	s := NewState()
	for i, at := range order {
		e := log[at]
		e.Seq, e.Provider, e.Mode = uint64(i+1), "provider", events.AnyMode
		rules.Fold(s, e)
	}
	return s
}

func checkout(id, object string) string { return ofType("checkout.completed", id, object) }

func paid(id, object string) string { return ofType("subscription.paid", id, object) }

func ofType(eventType, id, object string) string {
	return fmt.Sprintf(`{"id":%q,"eventType":%q,"object":{%s}}`, id, eventType, object)
}

// at returns the body with that minute of 2026-01-02T10 as the provider's time.
func at(minute int, body string) string {
	return fmt.Sprintf(`{"created_at":%d,%s`, minuteOf(minute).UnixMilli(), strings.TrimPrefix(body, "{"))
}

func minuteOf(minute int) time.Time { return time.Date(2026, 1, 2, 10, minute, 0, 0, time.UTC) }

func fixture(t *testing.T, name string) string {
	t.Helper()
	body, err := os.ReadFile("testdata/" + name + ".json")
	require.NoError(t, err)
	return string(body)
}

// outcomes returns what each event did, such as "applied" or "rejected missing_user".
func outcomes(s *State) map[string]string {
	all := map[string]string{}
	for _, row := range s.Events.Inserted() {
		all[row.EventID] = strings.TrimSpace(row.Outcome + " " + row.Reason)
	}
	return all
}

// grants returns the ledger, such as "e1 gives u1 200 one_time for t1".
func grants(s *State) []string {
	var all []string
	for _, l := range s.Ledger.Inserted() {
		all = append(all, fmt.Sprintf("%s gives %s %d %s for %s", l.EventID, l.UserID, l.Delta, l.Kind, l.ProviderPaymentID))
	}
	return all
}

// tables returns every row of every table, one line each, without empty columns.
func tables(s *State) []string {
	return slices.Concat(
		lines("processed_event", s.Events.Inserted()), lines("duplicate_event", s.Duplicates),
		lines("payment", s.Payments.Inserted()), lines("credit_ledger", s.Ledger.Inserted()),
		lines("credits", s.Credits.Inserted()), lines("subscription_state", s.Subscriptions.Inserted()),
		lines("subscription", s.Current.Inserted()), lines("pro_license", s.Licenses.Inserted()), lines("reversal", s.Reversals.Inserted()),
	)
}

// forLater has the columns that only later events need, and those that are the same for all events of these tests. tables
// leaves them out.
var forLater = map[string]bool{
	"provider": true, "action": true, "facts": true, "paid": true, "counts_until": true,
}

func lines[R any](table string, rows []R) []string {
	var all []string
	for _, row := range rows {
		line := table
		value := reflect.ValueOf(row)
		if value.Kind() == reflect.Interface {
			value = value.Elem()
		}
		for i := range value.NumField() {
			field := value.Field(i)
			if field.IsZero() {
				continue
			}
			column, _, _ := strings.Cut(value.Type().Field(i).Tag.Get("db"), ",")
			if forLater[column] {
				continue
			}
			line += fmt.Sprintf(" %s=%v", column, shown(reflect.Indirect(field).Interface()))
		}
		all = append(all, line)
	}
	slices.Sort(all)
	return all
}

func shown(value any) any {
	if t, ok := value.(time.Time); ok {
		return t.Format("01-02T15:04:05Z07:00")
	}
	return value
}

// requireTables compares all rows of all tables with the lines of want, in any indentation.
func requireTables(t *testing.T, want string, s *State) {
	t.Helper()
	var rows []string
	for line := range strings.Lines(want) {
		if line = strings.TrimSpace(line); line != "" {
			rows = append(rows, line)
		}
	}
	require.Equal(t, strings.Join(rows, "\n"), strings.Join(tables(s), "\n"))
}

var kindOf = regexp.MustCompile(`"kind": ?"[a-z_]+"`)

// ofKind replaces every kind in the body.
func ofKind(kind, body string) string {
	return kindOf.ReplaceAllString(body, `"kind":"`+kind+`"`)
}

// recorded returns the record of an event.
func recorded(t *testing.T, s *State, id string) ProcessedEvent {
	t.Helper()
	i := slices.IndexFunc(s.Events.Inserted(), func(e ProcessedEvent) bool { return e.EventID == id })
	require.NotEqual(t, -1, i, id)
	return s.Events.Inserted()[i]
}
