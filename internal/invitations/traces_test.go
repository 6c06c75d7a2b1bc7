package invitations

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/payfold/payfold/internal/telemetry/traces"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/collector"
)

const (
	recorded    = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	notRecorded = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"
)

// traced returns an inviter with traces, where the log has these contexts at these sequences.
func (w *world) traced(t *testing.T, deliveries map[uint64]string) (*Reconciler, *tracetest.SpanRecorder) {
	t.Helper()
	spans := tracetest.NewSpanRecorder()
	config := w.inviter(t).Config
	config.Registerer, config.Tracer = prometheus.NewRegistry(), traces.New(spans)
	config.DeliveryOf = func(_ context.Context, seq uint64) (string, error) {
		parent, has := deliveries[seq]
		if !has {
			return "", errors.New("the server does not have it any more")
		}
		return parent, nil
	}
	return New(config), spans
}

func TestAnAttemptContinuesTheTraceOfItsPurchase(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.buy(t, "u_private", "pay_1", "mona-private") // seq 1
	w.buy(t, "u_2", "pay_2", "octo")
	w.buy(t, "u_3", "pay_3", "hubot")
	w.buy(t, "u_4", "pay_4", "ghost")
	r, spans := w.traced(t, map[uint64]string{1: recorded, 2: notRecorded, 3: ""})
	reconcile(t, r)
	for user, payment := range map[string]string{"u_private": "pay_1", "u_2": "pay_2", "u_3": "pay_3", "u_4": "pay_4"} {
		w.requireStatus(t, user, payment, Invited)
	}
	ended := spans.Ended()
	require.Len(t, ended, 3)
	look, invite, attempt := ended[0], ended[1], ended[2]
	require.Equal(t, []string{"GitHub look", "GitHub invite", "invite"}, []string{look.Name(), invite.Name(), attempt.Name()})
	require.Equal(t, "00f067aa0ba902b7", attempt.Parent().SpanID().String())
	require.Equal(t, map[string]string{
		"payfold.provider_payment_id": "pay_1", "payfold.repository": testenv.GitHubRepository,
		"payfold.outcome": OutcomeSent, "payfold.invitation_status": Invited,
	}, collector.Attributes(attempt))
	for _, call := range []sdk.ReadOnlySpan{look, invite} {
		require.Equal(t, attempt.SpanContext().SpanID(), call.Parent().SpanID())
		require.Empty(t, collector.Attributes(call))
		require.Equal(t, codes.Unset, call.Status().Code)
	}

	w.refund(t, "pay_1")
	reconcile(t, r)
	w.requireStatus(t, "u_private", "pay_1", Withdrawn)
	withdrawal := spans.Ended()[3:]
	for i, name := range []string{"GitHub look", "GitHub cancel", "GitHub look", "withdraw"} {
		require.Equal(t, name, withdrawal[i].Name())
	}
	require.Len(t, spans.Started(), 7)
}

func TestAFailedCallIsMarkedWithoutWhatGitHubSaid(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.buy(t, "u_1", "pay_1", "mona")
	w.github.Script("mona", testenv.Reply{Status: http.StatusUnprocessableEntity, Body: `{"message":"mona-private cannot be invited"}`})
	r, spans := w.traced(t, map[uint64]string{1: recorded})
	reconcile(t, r)
	w.requireStatus(t, "u_1", "pay_1", Failed)
	failed := spans.Ended()[1]
	require.Equal(t, "GitHub invite", failed.Name())
	require.Equal(t, sdk.Status{Code: codes.Error, Description: "permanent"}, failed.Status())
	for _, span := range spans.Ended() {
		for _, value := range collector.Attributes(span) {
			require.NotContains(t, value, "mona")
		}
	}
}

func TestWithoutCredentialsThereIsNothingToTrace(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.buy(t, "u_1", "pay_1", "mona")
	config := w.inviter(t).Config
	config.Registerer, config.GitHub, config.Tracer = prometheus.NewRegistry(), nil, traces.New(tracetest.NewSpanRecorder())
	reconcile(t, New(config))
	w.requireStatus(t, "u_1", "pay_1", Pending)
}
