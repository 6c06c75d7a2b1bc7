package events_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
)

// Each text has the length of the form, or is nearly a time.
func TestOnlyTheFormOfIngestIsATimeOfReceipt(t *testing.T) {
	t.Parallel()
	stored := time.Date(2026, 11, 22, 9, 0, 3, 123456789, time.UTC)
	received := func(text string) time.Time {
		return events.NewMessage(1, 0, events.Attributes{ReceivedAt: text}, nil, stored).ReceivedAt
	}
	require.Equal(t, time.Date(2026, 11, 22, 9, 0, 2, 41000, time.UTC), received("2026-11-22T09:00:02.000041Z"))
	require.Equal(t, time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), received("2000-01-01T00:00:00.000000Z"))
	for _, text := range []string{
		"", "2026-11-22T09:00:02Z", "2026-11-22T09:00:02.00004Z", "2026-11-22T09:00:02.0000410Z", "2026-11-22T09:00:02,000041Z",
		"2026-11-22T09:00:02.0+01:00", "2026-11-22T9:00:02.0000041Z", "2026-11-22t09:00:02.000041Z", "2026-11-22T09:00:02.000041z",
		"1999-12-31T23:59:59.999999Z", "2026-11-31T09:00:02.000041Z", "2026-11-22T24:00:00.000000Z", "2026-11-22T09:00:60.000000Z",
	} {
		require.Equal(t, stored, received(text), text)
	}
}
