package telemetry_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/telemetry"
	"github.com/payfold/payfold/internal/testenv/wait"
)

func TestAnAdminIsAskedWhereItsProgramListens(t *testing.T) {
	t.Parallel()
	w := setup(t, fine)
	_, port, err := net.SplitHostPort(w.addr)
	require.NoError(t, err)
	for _, host := range []string{"127.0.0.1", "", "0.0.0.0", "localhost", "::"} {
		answer, err := telemetry.Ask(t.Context(), net.JoinHostPort(host, port), "/readyz")
		require.NoError(t, err, host)
		require.Equal(t, "ok\n", string(answer), host)
	}
}

func TestAnAdminOnAllInterfacesIsAskedOnTheLoopbackInterface(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"", "0.0.0.0", "::"} {
		listener, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
		require.NoError(t, err)
		_, port, err := net.SplitHostPort(listener.Addr().String())
		require.NoError(t, err)
		served := make(chan error, 1)
		ending, end := context.WithCancel(t.Context())
		server := &http.Server{Handler: http.NotFoundHandler()}
		go func() { served <- telemetry.Serve(ending, server, listener, wait.Timeout) }()
		_, err = telemetry.Ask(t.Context(), net.JoinHostPort(host, port), "/livez")
		require.EqualError(t, err, "404 page not found", host)
		end()
		require.NoError(t, <-served)
	}
}

func TestARefusalIsItsReason(t *testing.T) {
	t.Parallel()
	w := setup(t, func(context.Context) error { return errors.New("the stream is missing") })
	_, err := telemetry.Ask(t.Context(), w.addr, "/readyz")
	require.EqualError(t, err, "the stream is missing")
}

func TestAProgramThatDoesNotRunIsNamedByItsAddress(t *testing.T) {
	t.Parallel()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := closed.Addr().String()
	require.NoError(t, closed.Close())
	_, err = telemetry.Ask(t.Context(), addr, "/livez")
	require.ErrorContains(t, err, "nothing answers at ADMIN_ADDR "+addr)
	_, err = telemetry.Ask(t.Context(), "127.0.0.1:gopher", "/livez")
	require.ErrorIs(t, err, telemetry.ErrUnanswered)
	_, err = telemetry.Ask(t.Context(), "8081", "/livez")
	require.EqualError(t, err, `ADMIN_ADDR: "8081" is not host:port`)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = telemetry.Ask(ctx, addr, "/livez")
	require.ErrorIs(t, err, context.Canceled)
}
