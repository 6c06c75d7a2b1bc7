package live

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/telemetry/traces"
)

func (p *Projector) traced(m events.Message, traceParent string) message {
	if p.Tracer == nil {
		return message{Message: m}
	}
	return message{m, traces.Recorded(traceParent)}
}

// maxTraced bounds the spans of one batch: a span keeps 128 links, and the queue of spans to
// export has room for 2,048.
const maxTraced = 100

// outcomeDuplicate is the outcome of a message that is a row of duplicate_event.
const outcomeDuplicate = "duplicate_event"

// trace records what a committed batch did with its traced messages. Each gets a span in the trace of its delivery. The
// batch has one span, in a trace of its own, which links to all of them.
func (p *Projector) trace(messages []message, result Result, began time.Time) {
	var traced []message
	for _, m := range messages {
		if m.delivery != nil {
			traced = append(traced, m)
		}
	}
	if len(traced) == 0 {
		return
	}
	ended := trace.WithTimestamp(time.Now())
	processed := make(map[uint64]projections.ProcessedEvent, len(result.Events))
	for _, event := range result.Events {
		processed[uint64(event.StreamSeq)] = event
	}
	var spans []trace.Span
	var links []trace.Link
	for _, m := range traced[:min(len(traced), maxTraced)] {
		if span := p.startProject(m, processed, began); span.IsRecording() {
			spans = append(spans, span)
			links = append(links, trace.Link{SpanContext: *m.delivery})
		}
	}
	if len(spans) == 0 {
		return
	}
	_, batch := p.Tracer.Always.Start(context.Background(), "batch", trace.WithTimestamp(began), trace.WithSpanKind(trace.SpanKindConsumer),
		trace.WithLinks(links...), trace.WithAttributes(attribute.Int("messaging.batch.message_count", len(messages))))
	for _, span := range spans {
		span.AddLink(trace.Link{SpanContext: batch.SpanContext()})
		span.End(ended)
	}
	batch.End(ended)
}

func (p *Projector) startProject(m message, processed map[uint64]projections.ProcessedEvent, began time.Time) trace.Span {
	event, isNew := processed[m.Seq]
	if !isNew {
		event.Outcome = outcomeDuplicate
	}
	attributes := []attribute.KeyValue{
		attribute.String("messaging.message.id", m.ID), attribute.Int64("payfold.seq", int64(m.Seq)),
		attribute.Int("payfold.partition", m.Partition), attribute.String("payfold.outcome", event.Outcome),
	}
	if event.Reason != "" {
		attributes = append(attributes, attribute.String("payfold.reason", event.Reason))
	}
	_, span := p.Tracer.Start(trace.ContextWithRemoteSpanContext(context.Background(), *m.delivery), "project",
		trace.WithTimestamp(began), trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(attributes...))
	return span
}
