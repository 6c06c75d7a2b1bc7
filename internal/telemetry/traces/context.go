package traces

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// The names of the headers of the W3C's trace context.
const (
	parentHeader = "traceparent"
	stateHeader  = "tracestate"
)

// WithParent returns a context whose spans are children of the span that the headers name. If
// they name none, it returns ctx.
func WithParent(ctx context.Context, traceParent, traceState string) context.Context {
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{parentHeader: traceParent, stateHeader: traceState})
}

// Headers returns the values that name the span in ctx.
func Headers(ctx context.Context) (traceParent, traceState string) {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier[parentHeader], carrier[stateHeader]
}

// Recorded returns the span that a traceparent names; nil if it names none, or one that is not
// sampled. If a span is not sampled, its receiver makes no span either.
func Recorded(traceParent string) *trace.SpanContext {
	if traceParent == "" {
		return nil
	}
	parent := trace.SpanContextFromContext(WithParent(context.Background(), traceParent, ""))
	if !parent.IsSampled() {
		return nil
	}
	return &parent
}
