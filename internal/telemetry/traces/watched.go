package traces

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// watched logs when the exporter begins to fail and when it works again, and nothing between.
type watched struct {
	sdk.SpanExporter
	logger *slog.Logger
	fails  atomic.Bool
}

func (w *watched) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	err := w.SpanExporter.ExportSpans(ctx, spans)
	switch {
	case err != nil && !w.fails.Swap(true):
		w.logger.WarnContext(ctx, "traces are not exported", "error", shortened(err))
	case err == nil && w.fails.Swap(false):
		w.logger.InfoContext(ctx, "traces are exported again")
	}
	return nil // the error is logged already
}

// maxErrorBytes is enough for the beginning of a collector's answer. The error contains the whole answer.
const maxErrorBytes = 500

func shortened(err error) string {
	text := err.Error()
	if len(text) <= maxErrorBytes {
		return text
	}
	return strings.ToValidUTF8(text[:maxErrorBytes], "") + "…"
}

// useLogger makes the SDK write to the logger. Otherwise it writes to standard error.
func useLogger(logger *slog.Logger) {
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { logger.Warn("traces: a fault of the SDK", "error", shortened(err)) }))
	otel.SetLogger(logr.New(sink{logger}))
}

// sink logs what the SDK says of wrong variables. It leaves out the details, which may contain a
// credential.
type sink struct{ logger *slog.Logger }

func (sink) Init(logr.RuntimeInfo)            {}
func (sink) Enabled(int) bool                 { return false }
func (sink) Info(int, string, ...any)         {}
func (s sink) WithValues(...any) logr.LogSink { return s }
func (s sink) WithName(string) logr.LogSink   { return s }
func (s sink) Error(err error, msg string, _ ...any) {
	s.logger.Warn("traces: a fault of the SDK", "fault", msg, "error", err)
}
