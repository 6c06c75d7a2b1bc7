package traces

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Tracer starts the spans of one program. A nil Tracer means that there are no traces: check
// for nil before any work on a span. Safe for concurrent use.
type Tracer struct {
	trace.Tracer              // its spans are sampled as OTEL_TRACES_SAMPLER says
	Always       trace.Tracer // all of its spans are recorded
	provider     *sdk.TracerProvider
}

// Start returns the Tracer that the environment describes; nil if it describes none. The error
// has the faults of the environment. Spans are exported in the background: a collector that is
// slow or does not answer blocks nobody. When the queue is full, spans are dropped.
func Start(ctx context.Context, service string, logger *slog.Logger) (*Tracer, error) {
	if !isOn() {
		return nil, nil
	}
	if err := Check(); err != nil {
		return nil, err
	}
	useLogger(logger)
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("set up the export of traces: %w", err)
	}
	// If an attribute has two values, the later one counts, which is that of the environment.
	described, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", service)),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("read OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	return New(sdk.NewBatchSpanProcessor(&watched{SpanExporter: exporter, logger: logger}), sdk.WithResource(described)), nil
}

// New returns a Tracer that gives its spans to the processor.
func New(processor sdk.SpanProcessor, options ...sdk.TracerProviderOption) *Tracer {
	options = append(options, sdk.WithSpanProcessor(processor))
	sampled := sdk.NewTracerProvider(options...)
	always := sdk.NewTracerProvider(append(options, sdk.WithSampler(sdk.AlwaysSample()))...)
	return &Tracer{Tracer: sampled.Tracer(Scope), Always: always.Tracer(Scope), provider: sampled}
}

// Scope is the instrumentation scope of the spans.
const Scope = "github.com/payfold/payfold"

// stopTimeout bounds how long the end of a program waits for the collector.
const stopTimeout = 2 * time.Second

// Stop exports the spans that wait, as far as the collector takes them within stopTimeout. No span
// may be started after it.
func (t *Tracer) Stop() {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		otel.Handle(err)
	}
}
