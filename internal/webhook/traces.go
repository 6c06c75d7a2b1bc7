package webhook

import (
	"context"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/providers"
	"github.com/payfold/payfold/internal/telemetry/traces"
)

// deliverySpan is the span of one signed delivery; nil without traces. An unsigned delivery has no
// span: a stranger must neither cause exports nor choose which spans are recorded.
type deliverySpan struct {
	tracer *traces.Tracer
	ctx    context.Context // has the span
	span   trace.Span
}

// startSpan starts the span of a delivery whose signature is valid.
func (h *Handler) startSpan(d *events.Delivery, began time.Time) *deliverySpan {
	if h.Tracer == nil {
		return nil
	}
	ctx, span := h.Tracer.Start(traces.WithParent(context.Background(), d.TraceParent, d.TraceState), "delivery",
		trace.WithTimestamp(began), trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(attribute.String("http.request.method", http.MethodPost), attribute.String("http.route", providers.Named(d.Provider).Path())))
	return &deliverySpan{h.Tracer, ctx, span}
}

func (s *deliverySpan) setEvent(event events.Event) {
	if s != nil {
		s.span.SetAttributes(attribute.String("messaging.message.id", event.ID), attribute.String("payfold.event_type", event.Type))
	}
}

func (s *deliverySpan) end(a answer) {
	if s == nil {
		return
	}
	s.span.SetAttributes(attribute.String("payfold.answer", a.name), attribute.Int("http.response.status_code", a.status))
	if a.reason != "" {
		s.span.SetAttributes(attribute.String("payfold.reason", a.reason))
	}
	if a.status >= http.StatusInternalServerError {
		s.span.SetStatus(codes.Error, a.title)
	}
	s.span.End()
}

// startAppend starts the span of the append. If the span is sampled, the message in the log names
// it, and readers of the log continue the trace. Otherwise the message keeps the sender's trace
// headers, unless they ask for sampling.
func (s *deliverySpan) startAppend(d *events.Delivery) *appendSpan {
	if s == nil {
		return nil
	}
	ctx, span := s.tracer.Start(s.ctx, "append", trace.WithSpanKind(trace.SpanKindProducer),
		trace.WithAttributes(attribute.String("messaging.system", "nats"), attribute.String("messaging.message.id", d.Event.ID)))
	if span.SpanContext().IsSampled() || traces.Recorded(d.TraceParent) != nil {
		d.TraceParent, d.TraceState = traces.Headers(ctx)
	}
	return &appendSpan{span}
}

// appendSpan lasts until the event is durable.
type appendSpan struct{ span trace.Span }

func (s *appendSpan) end(duplicate bool, err error) {
	if s == nil {
		return
	}
	s.span.SetAttributes(attribute.Bool("payfold.duplicate", duplicate))
	if err != nil {
		s.span.SetStatus(codes.Error, err.Error())
	}
	s.span.End()
}

// The trace headers of the W3C, spelled as net/http stores them, which saves a conversion.
const (
	traceParent = "Traceparent"
	traceState  = "Tracestate"
)

// maxTrace is the W3C's limit for tracestate.
const maxTrace = 512

func traceHeader(r *http.Request, name string) string {
	value := r.Header.Get(name)
	for i := range len(value) {
		if value[i] < 0x20 || value[i] > 0x7e {
			return ""
		}
	}
	if len(value) > maxTrace {
		return ""
	}
	return value
}
