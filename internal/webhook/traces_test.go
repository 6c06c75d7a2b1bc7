package webhook_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/telemetry/traces"
	"github.com/payfold/payfold/internal/testenv/collector"
	"github.com/payfold/payfold/internal/testenv/specification"
)

const (
	sendersTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	sendersSpan  = "00f067aa0ba902b7"
	sampled      = "00-" + sendersTrace + "-" + sendersSpan + "-01"
	notSampled   = "00-" + sendersTrace + "-" + sendersSpan + "-00"
)

// recorder records the spans of a world's handler.
type recorder struct{ *tracetest.SpanRecorder }

// record returns a recorder, and the change that makes a world use it.
func record(options ...sdk.TracerProviderOption) (recorder, func(*world)) {
	r := recorder{tracetest.NewSpanRecorder()}
	return r, func(w *world) { w.config.Tracer = traces.New(r, options...) }
}

// byName returns the spans of all requests that were answered. A span ends before the answer.
func (r recorder) byName(t *testing.T) map[string]sdk.ReadOnlySpan {
	t.Helper()
	require.Len(t, r.Ended(), len(r.Started()))
	out := map[string]sdk.ReadOnlySpan{}
	for _, span := range r.Ended() {
		require.NotContains(t, out, span.Name())
		out[span.Name()] = span
	}
	return out
}

func traced(body, parent string) *request {
	r := delivery(body)
	r.header["Traceparent"] = []string{parent}
	return r
}

func TestTheLogContinuesTheTraceOfASignedDelivery(t *testing.T) {
	t.Parallel()
	spans, recording := record()
	w := setup(t, recording)
	r := traced(event, sampled)
	r.header["Tracestate"] = []string{"a=b"}
	require.Equal(t, accepted, w.send(r).body)
	got := spans.byName(t)
	require.Len(t, got, 2)
	whole, appended := got["delivery"], got["append"]
	require.Equal(t, trace.SpanKindServer, whole.SpanKind())
	require.Equal(t, sendersTrace, whole.SpanContext().TraceID().String())
	require.Equal(t, sendersSpan, whole.Parent().SpanID().String())
	require.Equal(t, map[string]string{
		"http.request.method": "POST", "http.route": "/api/payments/provider/webhook", "http.response.status_code": "200",
		"messaging.message.id": "evt_1", "payfold.event_type": "checkout.completed", "payfold.answer": "accepted",
	}, collector.Attributes(whole))
	require.Equal(t, trace.SpanKindProducer, appended.SpanKind())
	require.Equal(t, whole.SpanContext().SpanID(), appended.Parent().SpanID())
	require.False(t, appended.StartTime().Before(whole.StartTime()))
	require.False(t, appended.EndTime().After(whole.EndTime()))

	stored := w.log.deliveries()[0]
	require.Equal(t, "00-"+sendersTrace+"-"+appended.SpanContext().SpanID().String()+"-01", stored.TraceParent)
	require.Equal(t, "a=b", stored.TraceState)
}

func TestADeliveryWithoutContextBeginsATrace(t *testing.T) {
	t.Parallel()
	for _, parent := range []string{"", "00-x-y-01"} {
		spans, recording := record()
		w := setup(t, recording)
		require.Equal(t, accepted, w.send(traced(event, parent)).body)
		got := spans.byName(t)
		require.False(t, got["delivery"].Parent().IsValid())
		require.Contains(t, w.log.deliveries()[0].TraceParent, got["append"].SpanContext().SpanID().String())
	}
}

// A reader of the log must not take a delivery for sampled that is not.
func TestTheLogDoesNotSampleWhatIngestDoesNot(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		parent, stored string
		sampler        sdk.Sampler
	}{
		{notSampled, "^" + notSampled + "$", sdk.ParentBased(sdk.AlwaysSample())},
		{sampled, "^00-" + sendersTrace + "-[0-9a-f]{16}-00$", sdk.NeverSample()},
		{"", "^$", sdk.NeverSample()},
	} {
		spans, recording := record(sdk.WithSampler(row.sampler))
		w := setup(t, recording)
		require.Equal(t, accepted, w.send(traced(event, row.parent)).body)
		require.Empty(t, spans.byName(t))
		require.Regexp(t, row.stored, w.log.deliveries()[0].TraceParent)
	}
}

// The log keeps these headers for ever, and a message has room for little more than a body of the maximum size.
func TestTraceHeadersThatAreTooLongOrNoTextAreNotKept(t *testing.T) {
	t.Parallel()
	w := setup(t)
	longest := strings.Repeat("x", 512)
	for sent, kept := range map[string]string{longest: longest, longest + "x": "", "a=\xff": "", "": ""} {
		r := delivery(event)
		r.header["Traceparent"], r.header["Tracestate"] = []string{sent}, []string{sent}
		require.Equal(t, accepted, w.send(r).body)
		all := w.log.deliveries()
		stored := all[len(all)-1]
		require.Equal(t, []string{kept, kept}, []string{stored.TraceParent, stored.TraceState})
	}
}

func TestRequestsWithoutAValidSignatureMakeNoSpan(t *testing.T) {
	t.Parallel()
	spans, recording := record(sdk.WithSampler(sdk.AlwaysSample()))
	w := setup(t, recording)
	forged := traced(event, sampled)
	forged.header[specification.SignatureHeader] = []string{sign(foreign, event)}
	require.Equal(t, 401, w.send(forged).status)
	unsigned := traced(event, sampled)
	delete(unsigned.header, specification.SignatureHeader)
	require.Equal(t, 401, w.send(unsigned).status)
	elsewhere := traced(event, sampled)
	elsewhere.path = "/"
	require.Equal(t, 404, w.send(elsewhere).status)
	large := traced(event+strings.Repeat(" ", limit), sampled)
	require.Equal(t, 413, w.send(large).status)
	require.Empty(t, spans.byName(t))
}

func TestASpanTellsWhatBecameOfTheDelivery(t *testing.T) {
	t.Parallel()
	const private = "private-to-the-customer"
	for _, row := range []struct {
		body, answer, status string
		appended             bool
		duplicate            bool
		err                  error
	}{
		{body: `{"id":"e","eventType":"t","object":{"x":"` + private + `"}}`, answer: "duplicate", status: "200", appended: true, duplicate: true},
		{body: `{"id":"e","eventType":"t","object":{"x":"` + private + `"}}`, answer: "unavailable", status: "503", appended: true, err: errors.New("away")},
		{body: `{"x":"` + private + `"}`, answer: "malformed", status: "400"},
	} {
		spans, recording := record()
		w := setup(t, recording, func(w *world) {
			w.log.answer = func(context.Context, events.Delivery) (bool, error) { return row.duplicate, row.err }
		})
		w.send(delivery(row.body))
		got := spans.byName(t)
		require.Equal(t, row.answer, collector.Attributes(got["delivery"])["payfold.answer"])
		require.Equal(t, row.status, collector.Attributes(got["delivery"])["http.response.status_code"])
		require.Equal(t, row.err != nil, got["delivery"].Status().Description != "")
		require.Equal(t, row.appended, got["append"] != nil)
		if row.appended {
			require.Equal(t, row.err != nil, got["append"].Status().Description == "away")
		}
		for _, span := range got {
			for _, value := range collector.Attributes(span) {
				require.NotContains(t, value, private)
			}
		}
	}
}
