package webhook_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestADeliveryAheadOfTheClockIsStoredCountedAndLoggedOnce(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := setup(t, func(w *world) { w.config.Logger = slog.New(slog.NewTextHandler(&out, nil)) })
	const counter = "payfold_webhook_clock_ahead_total provider"
	require.Zero(t, w.metric(counter))
	created := func(at string) string {
		return `{"id":"evt_1","eventType":"checkout.completed","created_at":` + at + `,"object":{}}`
	}
	now := time.Now()
	for _, at := range []string{
		`null`, `0`, `"soon"`, fmt.Sprint(now.Add(-time.Hour).UnixMilli()), fmt.Sprint(now.UnixMilli()),
		fmt.Sprint(now.Add(30 * time.Second).UnixMilli()),
	} {
		require.Equal(t, 200, w.send(delivery(created(at))).status)
	}
	require.Zero(t, w.metric(counter))
	require.Empty(t, out.String())

	for _, ahead := range []time.Duration{10 * time.Minute, time.Hour, 100 * 24 * time.Hour} {
		require.Equal(t, 200, w.send(delivery(created(fmt.Sprint(now.Add(ahead).UnixMilli())))).status)
	}
	require.InDelta(t, 3, w.metric(counter), 0)
	require.Equal(t, 1, strings.Count(out.String(), "\n"), out.String())
	require.Regexp(t,
		`level=WARN msg="an event is ahead of this server's clock.*" provider=provider event_id=evt_1 ahead_seconds=[56]\d\d `, out.String())
}

func TestAForgedTimeIsNoReasonToDoubtTheClock(t *testing.T) {
	t.Parallel()
	w := setup(t)
	forged := delivery(fmt.Sprintf(`{"id":"evt_1","eventType":"t","created_at":%d,"object":{}}`,
		time.Now().Add(time.Hour).UnixMilli()))
	unsign(forged)
	require.Equal(t, 401, w.send(forged).status)
	require.Zero(t, w.metric("payfold_webhook_clock_ahead_total provider"))
}
