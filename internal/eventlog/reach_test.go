package eventlog_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/wait"
)

func TestACommandDoesNotWaitForAServerThatRefusesItsPassword(t *testing.T) {
	t.Parallel()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, Username: "u", Password: "right", NoLog: true, NoSigs: true})
	require.NoError(t, err)
	s.Start()
	defer s.WaitForShutdown()
	defer s.Shutdown()
	require.True(t, s.ReadyForConnections(wait.Timeout))
	log, err := eventlog.Connect(eventlog.Config{URL: "nats://u:wrong@" + s.Addr().String(), Stream: testenv.Stream, Logger: testenv.Logger(t)})
	require.NoError(t, err)
	defer log.Close()
	began := time.Now()
	_, err = log.Reach(t.Context(), testenv.Logger(t), wait.Timeout)
	require.ErrorIs(t, err, eventlog.ErrDisconnected)
	require.ErrorContains(t, err, "the server of NATS_URL at nats://"+s.Addr().String()+" refuses these credentials")
	require.NotContains(t, err.Error(), "wrong")
	require.Less(t, time.Since(began), wait.Timeout/2)
}
