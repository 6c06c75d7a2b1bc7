package endtoend

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/collector"
	"github.com/payfold/payfold/internal/testenv/specification"
)

// tracedDelivery delivers with a trace context, as a provider with traces does.
func (w *world) tracedDelivery(t *testing.T, body, traceParent, signature string) (status int) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.provider.URL, bytes.NewReader([]byte(body)))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set(specification.SignatureHeader, signature)
	request.Header.Set("traceparent", traceParent)
	response, err := w.provider.Client.Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return response.StatusCode
}

const (
	providersTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	providersSpan  = "00f067aa0ba902b7"
	providersOther = "5bf92f3577b34da6a3ce929d0e0e4736"
)

func TestOneTraceGoesFromTheDeliveryToTheRowAndToGitHub(t *testing.T) {
	t.Parallel()
	spans := collector.New(t)
	w := setup(t)
	stop(t, w.ingest)
	w.startIngest(t, spans.Env()...)
	github := testenv.NewGitHub(t, time.Now)
	projector := w.startProjector(t, append(append(inviting(github), "OTEL_SERVICE_NAME=shop"), spans.Env()...)...)

	body := licence("evt_1", "pay_1", "u_private", "mona-private")
	signature := specification.Sign(specification.NewSecret(secret), []byte(body))
	require.Equal(t, http.StatusUnauthorized, w.tracedDelivery(t, body, "00-"+providersOther+"-"+providersSpan+"-01", specification.Sign(specification.NewSecret("another"), []byte(body))))
	require.Equal(t, http.StatusOK, w.tracedDelivery(t, body, "00-"+providersTrace+"-"+providersSpan+"-01", signature))
	require.Equal(t, http.StatusOK, w.tracedDelivery(t, body, "00-"+providersOther+"-"+providersSpan+"-00", signature), "one that is not sampled")
	w.awaitInvitation(t, "u_private", "invited")
	stop(t, projector)
	stop(t, w.ingest)

	parent := providersSpan
	for _, step := range []struct{ name, service string }{{"delivery", "payfold-ingest"}, {"append", "payfold-ingest"}, {"project", "shop"}} {
		span := spans.Named(t, step.name, 1)[0]
		require.Equal(t, []string{step.service, providersTrace, parent}, []string{span.Service, span.TraceID, span.ParentID}, step.name)
		require.Equal(t, "evt_1", span.Attributes["messaging.message.id"])
		parent = span.SpanID
	}
	appended, projected, batch := spans.Named(t, "append", 1)[0], spans.Named(t, "project", 1)[0], spans.Named(t, "batch", 1)[0]
	require.Equal(t, "applied", projected.Attributes["payfold.outcome"])
	require.Equal(t, "1", projected.Attributes["payfold.seq"])
	require.Equal(t, []string{batch.SpanID}, projected.Links)
	require.Equal(t, []string{appended.SpanID}, batch.Links)
	require.NotEqual(t, providersTrace, batch.TraceID)

	invite := spans.Named(t, "invite", 1)[0]
	require.Equal(t, []string{providersTrace, appended.SpanID}, []string{invite.TraceID, invite.ParentID})
	require.Equal(t, "sent", invite.Attributes["payfold.outcome"])
	for _, call := range []string{"GitHub look", "GitHub invite"} {
		span := spans.Named(t, call, 1)[0]
		require.Equal(t, []string{providersTrace, invite.SpanID}, []string{span.TraceID, span.ParentID}, call)
	}
	for _, hidden := range []string{"u_private", "mona-private", signature, secret, testenv.GitHubToken} {
		require.False(t, spans.Mentions(hidden), hidden)
	}
}

func TestACollectorThatIsAwayHoldsUpNothingAndIsNamedOnce(t *testing.T) {
	t.Parallel()
	spans := collector.New(t)
	spans.Answer(http.StatusBadRequest)
	w := setup(t)
	stop(t, w.ingest)
	w.startIngest(t, spans.Env()...)
	for i, event := range []string{"evt_1", "evt_2", "evt_3"} {
		w.deliver(t, licence(event, "pay_"+event, "u_1", "mona"))
		spans.Refused(t, "delivery", i+1)
	}
	w.ingest.WaitFor(t, `msg="traces are not exported"`)
	spans.Answer(http.StatusOK)
	w.deliver(t, licence("evt_4", "pay_4", "u_1", "mona"))
	w.ingest.WaitFor(t, `msg="traces are exported again"`)
	stop(t, w.ingest)
	require.Equal(t, 1, strings.Count(w.ingest.Output(), "traces are not exported"))
	require.NotEmpty(t, spans.Named(t, "delivery", 1))
}

func TestWithoutACollectorNothingIsTraced(t *testing.T) {
	t.Parallel()
	w := setup(t)
	stop(t, w.ingest)
	w.startIngest(t, "OTEL_TRACES_SAMPLER=always_on", "OTEL_SERVICE_NAME=shop")
	w.deliver(t, licence("evt_1", "pay_1", "u_1", "mona"))
	log, info := w.connect(t)
	defer log.Close()
	parent, err := log.TraceParent(t.Context(), info.Last)
	require.NoError(t, err)
	require.Empty(t, parent)
}

func TestACredentialOfTheCollectorIsNotLogged(t *testing.T) {
	t.Parallel()
	for fault, headers := range map[string]string{"missing '=": "api-key:" + mark, "invalid URL escape": "api-key=%zz" + mark, "Bad Request": "api-key=" + mark} {
		spans := collector.New(t)
		spans.Answer(http.StatusBadRequest)
		w := setup(t)
		stop(t, w.ingest)
		w.startIngest(t, append(spans.Env(), "OTEL_EXPORTER_OTLP_HEADERS="+headers)...)
		w.deliver(t, licence("evt_1", "pay_1", "u_1", "mona"))
		w.ingest.WaitFor(t, fault)
		stop(t, w.ingest)
		requireUnmarked(t, w.ingest)
	}
}

func TestWrongVariablesOfTracesAreAllNamed(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"ingest", "projector"} {
		env := []string{
			"DATA_DIR=" + t.TempDir(), "PROVIDER_WEBHOOK_SECRET=" + secret, "OTEL_EXPORTER_OTLP_ENDPOINT=localhost:4317",
			"OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "OTEL_TRACES_SAMPLER=sometimes", "OTEL_TRACES_EXPORTER=zipkin",
		}
		p := testenv.Start(t, program, env)
		require.Equal(t, 2, p.Exit(t))
		for _, fault := range []string{
			"OTEL_EXPORTER_OTLP_ENDPOINT is not an http(s) address", `OTEL_EXPORTER_OTLP_PROTOCOL is "grpc"`,
			`OTEL_TRACES_SAMPLER is "sometimes"`, `OTEL_TRACES_EXPORTER is "zipkin"`,
		} {
			require.Contains(t, p.Output(), fault)
		}
	}
}
