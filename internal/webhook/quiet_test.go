package webhook_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/testenv/specification"
	"github.com/payfold/payfold/internal/testenv/wait"
)

func TestNeitherSecretNorSignatureNorBodyIsEverLogged(t *testing.T) {
	t.Parallel()
	const private = "private-to-the-customer"
	var logged wait.Buffer
	answers := make(chan error, 2)
	answers <- nil
	answers <- errors.New("away")
	w := setup(t, func(w *world) {
		w.config.Logger = slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
		w.log.answer = func(context.Context, events.Delivery) (bool, error) { return false, <-answers }
	})
	bodies := []string{
		`{"id":"e","eventType":"t","object":{"x":"` + private + `"}}`,
		`{"id":"e","eventType":"t","object":{"x":"` + private + `"} }`,
		private, `{"` + private + `":1}`, private + strings.Repeat("x", limit),
	}
	statuses := []int{200, 503, 400, 400, 413}
	signatures := []string{sign(foreign, bodies[0])}
	for i, body := range bodies {
		require.Equal(t, statuses[i], w.send(delivery(body)).status)
		signatures = append(signatures, sign(current, body))
	}
	forged := delivery(bodies[0])
	forged.header.Set(specification.SignatureHeader, signatures[0])
	require.Equal(t, 401, w.send(forged).status)

	for _, answer := range []string{"answer=unauthorized", "answer=malformed", "answer=too_large", "answer=unavailable", "event_id=e "} {
		require.Contains(t, logged.String(), answer)
	}
	for _, hidden := range append(signatures, private, current, previous, foreign) {
		require.NotContains(t, strings.ToLower(logged.String()), hidden)
	}
}
