package projections

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// docs/reference.md names every event type that has an effect, every outcome and every reason.
func TestTheReferenceNamesEveryEventTypeOutcomeAndReason(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/reference.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(text), "\n## What each event does\n")
	require.True(t, found)
	section, rest, _ := strings.Cut(section, "\n## ")
	for _, name := range TypesWithEffect {
		short := strings.TrimPrefix(name, "subscription") // after the first, types of subscriptions are written without it
		require.True(t, strings.Contains(section, "`"+name+"`") || strings.Contains(section, "`"+short+"`"), name)
	}
	for _, reason := range Reasons {
		require.Contains(t, section, "`"+string(reason)+"`")
	}
	for _, outcome := range []Outcome{Applied, DuplicatePayment, Stale, Ignored, Rejected} {
		require.Contains(t, rest, "`"+string(outcome)+"`")
	}
}
