package traces

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const known = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// exporter is an exporter as the test says.
type exporter func(context.Context) error

func (e exporter) ExportSpans(ctx context.Context, _ []sdk.ReadOnlySpan) error { return e(ctx) }
func (e exporter) Shutdown(context.Context) error                              { return nil }

func TestWithoutAnEndpointThereIsNoTracer(t *testing.T) {
	for _, variables := range []map[string]string{
		{},
		{endpoint: " "},
		{sampler: "always_on", protocol: "grpc"},
		{endpoint: "http://localhost:4318", disabled: "True"},
		{tracesEndpoint: "http://localhost:4318", exporterName: "none"},
	} {
		t.Run("", func(t *testing.T) {
			clear(t)
			for name, text := range variables {
				t.Setenv(name, text)
			}
			tracer, err := Start(t.Context(), "program", slog.New(slog.DiscardHandler))
			require.NoError(t, err)
			require.Nil(t, tracer)
			tracer.Stop()
		})
	}
}

// clear unsets the variables of the person who runs the tests.
func clear(t *testing.T) {
	for _, name := range []string{endpoint, tracesEndpoint, protocol, tracesProtocol, exporterName, disabled, sampler, samplerArg} {
		t.Setenv(name, "")
	}
}

func TestEveryWrongVariableIsNamed(t *testing.T) {
	clear(t)
	t.Setenv(endpoint, "https://collector.example:4318")
	require.NoError(t, Check())
	t.Setenv(endpoint, "https://user:secret@collector.example:4318")
	require.EqualError(t, Check(), endpoint+" is not an http(s) address without credentials")
	for name, text := range map[string]string{
		endpoint: "collector:4318", tracesEndpoint: "ftp://collector", protocol: "http/json", tracesProtocol: "grpc",
		exporterName: "console", sampler: "rarely",
	} {
		t.Setenv(name, text)
		require.ErrorContains(t, Check(), name+" is ")
	}
	t.Setenv(sampler, "parentbased_traceidratio")
	for _, text := range []string{"-0.1", "1.1", "NaN", "half"} {
		t.Setenv(samplerArg, text)
		require.ErrorContains(t, Check(), samplerArg+" is ")
	}
	_, err := Start(t.Context(), "program", slog.New(slog.DiscardHandler))
	require.Equal(t, Check(), err)
	require.Len(t, strings.Split(err.Error(), "\n"), 6)
}

func TestAnExporterThatFailsIsLoggedOnceEachTime(t *testing.T) {
	t.Parallel()
	var logged bytes.Buffer
	answers := make(chan error, 1)
	w := &watched{SpanExporter: exporter(func(context.Context) error { return <-answers }), logger: slog.New(slog.NewTextHandler(&logged, nil))}
	away := errors.New("away")
	for _, answer := range []error{nil, away, away, nil, nil, away, nil} {
		answers <- answer
		require.NoError(t, w.ExportSpans(t.Context(), nil))
	}
	require.Equal(t, 2, strings.Count(logged.String(), `level=WARN msg="traces are not exported" error=away`))
	require.Equal(t, 2, strings.Count(logged.String(), `level=INFO msg="traces are exported again"`))
}

func TestALongAnswerOfTheCollectorIsAShortLine(t *testing.T) {
	t.Parallel()
	var logged bytes.Buffer
	w := &watched{SpanExporter: exporter(func(context.Context) error {
		return errors.New("500 (body: " + strings.Repeat("ü", 1<<20))
	}), logger: slog.New(slog.NewTextHandler(&logged, nil))}
	require.NoError(t, w.ExportSpans(t.Context(), nil))
	require.Contains(t, logged.String(), "500 (body: ü")
	require.Less(t, logged.Len(), 1000)
}

func TestACollectorThatDoesNotAnswerNeitherBlocksSpansNorTheEnd(t *testing.T) {
	t.Parallel()
	silent, ended := make(chan struct{}), make(chan struct{})
	end := sync.OnceFunc(func() { close(ended) })
	tracer := New(sdk.NewBatchSpanProcessor(exporter(func(context.Context) error {
		<-silent
		end() // what was left in the queue is exported next
		return nil
	}), sdk.WithMaxQueueSize(4), sdk.WithMaxExportBatchSize(4)))
	for range 100 {
		_, span := tracer.Start(t.Context(), "any")
		span.End()
	}
	tracer.Stop()
	close(silent)
	<-ended
}

func TestThePartsOfTheSDKDoNotLogCredentials(t *testing.T) {
	t.Parallel()
	var logged bytes.Buffer
	s := sink{slog.New(slog.NewTextHandler(&logged, nil))}
	s.Error(errors.New("missing '='"), "parse headers", "input", "api-key:secret")
	require.Contains(t, logged.String(), "parse headers")
	require.NotContains(t, logged.String(), "secret")
}

func TestOnlyASampledParentIsRecorded(t *testing.T) {
	t.Parallel()
	recorded := Recorded(known)
	require.NotNil(t, recorded)
	require.Equal(t, "4bf92f3577b34da6a3ce929d0e0e4736", recorded.TraceID().String())
	require.Equal(t, "00f067aa0ba902b7", recorded.SpanID().String())
	require.True(t, recorded.IsRemote())
	for _, text := range []string{"", "x", "00-x-y-01", strings.TrimSuffix(known, "1") + "0", strings.Repeat("x", 512), "00-" + strings.Repeat("0", 32) + "-00f067aa0ba902b7-01"} {
		require.Nil(t, Recorded(text), text)
	}
}

func TestHeadersNameASpan(t *testing.T) {
	t.Parallel()
	parent, state := Headers(WithParent(t.Context(), known, "a=b"))
	require.Equal(t, []string{known, "a=b"}, []string{parent, state})
	parent, state = Headers(t.Context())
	require.Empty(t, parent+state)
}

// The span of a batch is recorded because the spans of its events are.
func TestTheOtherTracerRecordsEverything(t *testing.T) {
	t.Parallel()
	spans := tracetest.NewSpanRecorder()
	tracer := New(spans, sdk.WithSampler(sdk.NeverSample()))
	for _, one := range []trace.Tracer{tracer, tracer.Always} {
		_, span := one.Start(t.Context(), "any")
		span.End()
	}
	require.Len(t, spans.Ended(), 1)
}
