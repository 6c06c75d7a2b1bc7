package projections

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
)

// docs/reference.md names every action, every outcome and every reason.
func TestTheReferenceNamesEveryActionOutcomeAndReason(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/reference.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(text), "\n## What each event does\n")
	require.True(t, found)
	section, rest, _ := strings.Cut(section, "\n## ")
	for _, action := range []events.Action{events.Payment, events.Checkout, events.Subscription, events.Reverse, events.None} {
		require.Contains(t, section, "`"+string(action)+"`")
	}
	for _, reason := range Reasons {
		require.Contains(t, section, "`"+string(reason)+"`")
	}
	for _, outcome := range []Outcome{Applied, DuplicatePayment, Stale, Ignored, Rejected} {
		require.Contains(t, rest, "`"+string(outcome)+"`")
	}
}
