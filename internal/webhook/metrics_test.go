package webhook_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/testenv/metrics"
	"github.com/payfold/payfold/internal/testenv/specification"
)

// deliveries returns the counts of deliveries by answer and reason; those that are 0 are left out.
func (w *world) deliveries() map[string]float64 {
	w.t.Helper()
	got := map[string]float64{}
	for name, count := range metrics.Values(w.t, w.registry) {
		if labels, is := strings.CutPrefix(name, "payfold_webhook_deliveries_total "); is && count > 0 {
			got[strings.ReplaceAll(labels, " ", "/")] = count
		}
	}
	return got
}

func TestDeliveriesAreCountedByAnswerAndReason(t *testing.T) {
	t.Parallel()
	type result struct {
		duplicate bool
		err       error
	}
	results := make(chan result, 1)
	w := setup(t, func(w *world) {
		w.log.answer = func(context.Context, events.Delivery) (bool, error) { r := <-results; return r.duplicate, r.err }
	})
	want := map[string]float64{}
	for name, r := range map[string]result{
		"accepted/": {}, "duplicate/": {duplicate: true},
		"unavailable/log": {err: errors.New("away")}, "unavailable/log_timeout": {err: context.DeadlineExceeded},
	} {
		results <- r
		w.send(delivery(event))
		want[name]++
	}
	for _, c := range []struct {
		name  string
		body  string
		spoil func(*request)
	}{
		{"not_found/path", event, func(r *request) { r.path = "/" }},
		{"wrong_method/method", event, func(r *request) { r.method = "PUT" }},
		{"unsupported_media/content_type", event, func(r *request) { r.header.Del("Content-Type") }},
		{"unsupported_media/content_encoding", event, func(r *request) { r.header.Set("Content-Encoding", "gzip") }},
		{"too_large/body_size", tooBig, func(*request) {}},
		{"unauthorized/no_signature", event, unsign},
		{"unauthorized/signature", event, func(r *request) { r.header.Set(specification.SignatureHeader, sign(foreign, event)) }},
		{"malformed/syntax", "hello", func(*request) {}},
	} {
		r := delivery(c.body)
		c.spoil(r)
		w.send(r)
		want[c.name]++
	}
	require.Equal(t, want, w.deliveries())
	families, err := w.registry.Gather()
	require.NoError(t, err)
	for _, family := range families {
		switch family.GetName() {
		case "payfold_webhook_delivery_duration_seconds":
			require.EqualValues(t, len(want), family.GetMetric()[0].GetHistogram().GetSampleCount())
		case "payfold_webhook_deliveries_total":
			require.Len(t, family.GetMetric(), 17, "each answer has a value from the start")
		}
	}
	require.Zero(t, w.metric("payfold_webhook_in_flight"))
}

func TestItIsMeasuredSinceWhenEventsAreRefused(t *testing.T) {
	t.Parallel()
	var fault error
	const accepted, refusing = "payfold_webhook_last_accepted_timestamp_seconds", "payfold_webhook_refusing_since_timestamp_seconds"
	w := setup(t, func(w *world) {
		w.log.answer = func(context.Context, events.Delivery) (bool, error) { return false, fault }
	})
	now := func() float64 { return float64(time.Now().UnixNano()) / 1e9 }
	require.Zero(t, w.metric(accepted))
	require.Zero(t, w.metric(refusing))

	before := now()
	require.Equal(t, 200, w.send(delivery(event)).status)
	stored := w.metric(accepted)
	require.GreaterOrEqual(t, stored, before)
	require.LessOrEqual(t, stored, now())

	before, fault = now(), errors.New("away")
	require.Equal(t, 503, w.send(delivery(event)).status)
	since := w.metric(refusing)
	require.GreaterOrEqual(t, since, before)
	require.LessOrEqual(t, since, now())
	require.Equal(t, 503, w.send(delivery(event)).status)
	unsigned := delivery(event)
	unsign(unsigned)
	require.Equal(t, 401, w.send(unsigned).status)
	require.Equal(t, 400, w.send(delivery("hello")).status)
	require.InDelta(t, since, w.metric(refusing), 0, "it is the first of them")
	require.InDelta(t, stored, w.metric(accepted), 0)

	fault = nil
	require.Equal(t, 200, w.send(delivery(event)).status)
	require.Zero(t, w.metric(refusing))
	require.Greater(t, w.metric(accepted), stored)
}

func TestWhatAnEarlierProcessAcceptedIsMeasured(t *testing.T) {
	t.Parallel()
	w := setup(t)
	const accepted = "payfold_webhook_last_accepted_timestamp_seconds"
	w.handler.AcceptedAt(time.Time{})
	require.Zero(t, w.metric(accepted), "its log was empty")
	w.handler.AcceptedAt(time.Unix(1_700_000_000, 0))
	require.InDelta(t, 1_700_000_000, w.metric(accepted), 0)
	require.Equal(t, 200, w.send(delivery(event)).status)
	w.handler.AcceptedAt(time.Unix(1_700_000_000, 0))
	require.Greater(t, w.metric(accepted), 1_700_000_000.0, "it is older")
}
