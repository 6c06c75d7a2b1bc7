package projections

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// shownUntil folds the events and returns status and end of the subscription that u1 is shown.
func shownUntil(t *testing.T, log ...[2]string) string {
	t.Helper()
	s := by(t, anyMode, log...)
	shown, _ := s.Current.Get("u1")
	state, _ := s.Subscriptions.Get("s1")
	require.Equal(t, state.CurrentPeriodEnd, shown.CurrentPeriodEnd)
	return shown.Status + " " + shown.CurrentPeriodStart.Format(time.DateOnly) + " " + shown.CurrentPeriodEnd.Format(time.DateOnly)
}

// monthly is an event about the status of s1, with a period that begins in that month.
func monthly(id, day, word string, month int) [2]string {
	body := ofType("subscription."+word, id, fmt.Sprintf(
		`"id":"s1","current_period_start_date":"2026-0%d-01T00:00:00Z","current_period_end_date":"2026-0%d-01T00:00:00Z","metadata":{"user_id":"u1"}`, month, month+1))
	return specified(strings.Replace(body, `{"id"`, `{"created_at":"`+day+`T00:00:00Z","id"`, 1))
}

func extend(id, day string) [2]string {
	return own(id, "subscription", `"time":"2026-01-10T00:00:00Z","subscription":"s1","extended_until":"`+day+`T00:00:00Z"`)
}

func TestAnExtensionMovesTheEndOfThePeriodAndNothingElse(t *testing.T) {
	t.Parallel()
	active, extension := monthly("e1", "2026-01-01", "active", 1), extend("x1", "2026-02-15")
	require.Equal(t, "active 2026-01-01 2026-02-15", shownUntil(t, active, extension))
	require.Equal(t, "active 2026-01-01 2026-02-15", shownUntil(t, extension, active))
	require.Equal(t, "active 2026-01-01 2026-02-01", shownUntil(t, active, extend("x1", "2026-01-20")), "a period is never made shorter")
}

func TestTheProvidersNextEventDoesNotUndoAnExtension(t *testing.T) {
	t.Parallel()
	active, extension := monthly("e1", "2026-01-01", "active", 1), extend("x1", "2026-02-15")
	require.Equal(t, "past_due 2026-01-01 2026-02-15", shownUntil(t, active, extension, monthly("e2", "2026-01-20", "past_due", 1)))
	require.Equal(t, "canceled 2026-01-01 2026-02-15", shownUntil(t, active, extension, monthly("e2", "2026-01-20", "canceled", 1)))
	require.Equal(t, "canceled 2026-01-01 2026-02-15", shownUntil(t, active, monthly("e2", "2026-01-05", "canceled", 1), extension), "it stays canceled")
	require.Equal(t, "active 2026-02-01 2026-03-01", shownUntil(t, active, extension, monthly("e2", "2026-02-01", "active", 2)), "the next period ends later")
}

func TestTheLongestExtensionCountsAmongAnyNumber(t *testing.T) {
	t.Parallel()
	log := [][2]string{monthly("e1", "2026-01-01", "active", 1), extend("longest", "2026-09-09")}
	for i := range 30 {
		log = append(log, extend(fmt.Sprintf("x%d", i), fmt.Sprintf("2026-03-%02d", i+1)))
	}
	require.Equal(t, "active 2026-01-01 2026-09-09", shownUntil(t, log...))
}

func TestAnExtensionThatCannotBeReadChangesNothing(t *testing.T) {
	t.Parallel()
	active := monthly("e1", "2026-01-01", "active", 1)
	for _, day := range []string{"soon", "2100-01-01", "1999-01-01"} {
		require.Equal(t, "active 2026-01-01 2026-02-01", shownUntil(t, active, extend("x1", day)), day)
	}
	body := strings.Replace(active[1], `"object":{`, `"extended_until":"2026-05-01T00:00:00Z","object":{"extended_until":"2026-05-01T00:00:00Z",`, 1)
	require.Equal(t, "active 2026-01-01 2026-02-01", shownUntil(t, specified(body)), "only the shop extends")
}
