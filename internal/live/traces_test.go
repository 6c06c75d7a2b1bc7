package live_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/live"
	"github.com/payfold/payfold/internal/telemetry/traces"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/collector"
	"github.com/payfold/payfold/internal/testenv/fixture"
	"github.com/payfold/payfold/internal/testenv/specification"
	"github.com/payfold/payfold/internal/testenv/wait"
	"github.com/payfold/payfold/internal/testenv/world"
)

// contextOf returns the trace context of the nth delivery, whose span has the id n.
func contextOf(n int, sampled bool) string {
	flags := "00"
	if sampled {
		flags = "01"
	}
	return fmt.Sprintf("00-4bf92f3577b34da6a3ce929d%08x-%016x-%s", n, n, flags)
}

// appendTraced appends bodies; that at i has contexts[i].
func appendTraced(ctx context.Context, t *testing.T, log *testenv.Log, bodies, contexts []string) {
	t.Helper()
	for i, body := range bodies {
		event, err := specification.Parse([]byte(body))
		require.NoError(t, err)
		_, err = log.Append(ctx, events.Delivery{Event: event, Body: []byte(body), Provider: event.Provider, TraceParent: contexts[i]})
		require.NoError(t, err)
	}
}

// project applies the whole log with traces and returns the ended spans by name, when that many
// events have one. A projector that is stopped before it has the answer to its commit makes none.
func project(ctx context.Context, t *testing.T, w *world.World, batchSize, sampled int, options ...sdk.TracerProviderOption) map[string][]sdk.ReadOnlySpan {
	t.Helper()
	spans := tracetest.NewSpanRecorder()
	database := w.OpenAs(ctx, t, "traced")
	config := w.Config(t, database, fixture.AnyMode)
	config.BatchSize, config.Tracer = batchSize, traces.New(spans, options...)
	stop := world.Run(ctx, t, live.New(config), database)
	wait.Until(t, func() bool {
		var least int64
		err := w.DB.QueryRow(ctx, "select min(position) from portal.checkpoint").Scan(&least)
		return err == nil && uint64(least) == w.Head(ctx, t) && len(spansByName(spans)["project"]) >= sampled
	})
	require.NoError(t, stop())
	return byName(t, spans)
}

func byName(t *testing.T, spans *tracetest.SpanRecorder) map[string][]sdk.ReadOnlySpan {
	t.Helper()
	require.Len(t, spans.Ended(), len(spans.Started()))
	return spansByName(spans)
}

// spansByName returns the spans that have ended.
func spansByName(spans *tracetest.SpanRecorder) map[string][]sdk.ReadOnlySpan {
	out := map[string][]sdk.ReadOnlySpan{}
	for _, span := range spans.Ended() {
		out[span.Name()] = append(out[span.Name()], span)
	}
	return out
}

// Batches of 1 are a backlog; a batch of 1000 is none.
func TestEverySampledEventHasASpanInTheTraceOfItsDelivery(t *testing.T) {
	t.Parallel()
	for _, batchSize := range []int{1, 1000} {
		t.Run(fmt.Sprint("batch size ", batchSize), func(t *testing.T) {
			t.Parallel()
			ctx, w := world.New(t)
			bodies := []string{
				fixture.Pack("e1", "p1", "u1", 200),
				fixture.Pack("e2", "p2", "u2", 10),
				fixture.Pack("e3", "p3", "u3", 10),
				`{"id":"e4","eventType":"checkout.completed","object":{"metadata":{"kind":"one_time"}}}`,
			}
			appendTraced(ctx, t, w.Log, bodies, []string{contextOf(1, true), contextOf(2, false), "", contextOf(4, true)})
			got := project(ctx, t, w, batchSize, 2)
			require.Len(t, got["project"], 2)
			batches := map[string]sdk.ReadOnlySpan{}
			linked := map[string]bool{}
			for _, batch := range got["batch"] {
				batches[batch.SpanContext().SpanID().String()] = batch
				require.False(t, batch.Parent().IsValid())
				for _, link := range batch.Links() {
					linked[link.SpanContext.SpanID().String()] = true
				}
			}
			require.Equal(t, map[string]bool{fmt.Sprintf("%016x", 1): true, fmt.Sprintf("%016x", 4): true}, linked)
			for i, n := range []int{1, 4} {
				span := got["project"][i]
				require.Equal(t, fmt.Sprintf("%016x", n), span.Parent().SpanID().String())
				require.Equal(t, fmt.Sprintf("4bf92f3577b34da6a3ce929d%08x", n), span.SpanContext().TraceID().String())
				require.Len(t, span.Links(), 1)
				batch := batches[span.Links()[0].SpanContext.SpanID().String()]
				require.Equal(t, []any{batch.StartTime(), batch.EndTime()}, []any{span.StartTime(), span.EndTime()})
				has := collector.Attributes(span)
				require.Equal(t, fmt.Sprint("e", n), has["messaging.message.id"])
				require.Equal(t, fmt.Sprint(n), has["payfold.seq"])
				require.Contains(t, has, "payfold.partition")
			}
			require.Equal(t, "applied", collector.Attributes(got["project"][0])["payfold.outcome"])
			rejected := collector.Attributes(got["project"][1])
			require.Equal(t, "rejected", rejected["payfold.outcome"])
			require.NotEmpty(t, rejected["payfold.reason"])
			for _, value := range rejected {
				require.NotContains(t, value, "u1")
			}
		})
	}
}

// applyTraced applies one batch, in which the message at seq has contextOf(seq), and returns the
// ended spans by name.
func applyTraced(t *testing.T, bodies ...string) map[string][]sdk.ReadOnlySpan {
	t.Helper()
	ctx, s := fixture.Tables(t)
	spans := tracetest.NewSpanRecorder()
	p := live.New(live.Config{
		Store: s, Rules: fixture.AnyMode, BatchSize: 1, Logger: testenv.Logger(t), Registerer: prometheus.NewRegistry(), Tracer: traces.New(spans),
	})
	f := p.Follower("log-1", fixture.Partitions, 0, allPartitions...)
	f.TraceParents = map[uint64]string{}
	var batch []events.Message
	for i, body := range bodies {
		batch = append(batch, message(i+1, body))
		f.TraceParents[uint64(i+1)] = contextOf(i+1, true)
	}
	require.NoError(t, f.ApplyLast(ctx, batch...))
	return byName(t, spans)
}

func TestADuplicateEventHasASpanOfItsOwn(t *testing.T) {
	t.Parallel()
	body := fixture.Pack("e1", "p1", "u1", 200)
	got := applyTraced(t, body, body)["project"]
	require.Len(t, got, 2)
	require.Equal(t, "applied", collector.Attributes(got[0])["payfold.outcome"])
	require.Equal(t, "duplicate_event", collector.Attributes(got[1])["payfold.outcome"])
}

func TestTheSpansOfABatchAreBounded(t *testing.T) {
	t.Parallel()
	var bodies []string
	for i := range 150 {
		bodies = append(bodies, fixture.Pack(fmt.Sprint("e", i), fmt.Sprint("p", i), "u1", 1))
	}
	got := applyTraced(t, bodies...)
	require.Len(t, got["project"], 100)
	require.Len(t, got["batch"], 1)
	require.Len(t, got["batch"][0].Links(), 100)
	require.Equal(t, "150", collector.Attributes(got["batch"][0])["messaging.batch.message_count"])
}

func TestTheSamplerOfTheProjectorDecides(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	appendTraced(ctx, t, w.Log, []string{fixture.Pack("e1", "p1", "u1", 1)}, []string{contextOf(1, true)})
	require.Empty(t, project(ctx, t, w, 10, 0, sdk.WithSampler(sdk.NeverSample())))
}
