package connection_test

import (
	"net"
	"os"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/eventlog/connection"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// nats.go connects within a deadline, which must end a read that could wait for longer.
func TestADeadlineEndsARead(t *testing.T) {
	t.Parallel()
	server, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer server.Close()
	var options nats.Options
	require.NoError(t, connection.Dial(&net.Dialer{}, wait.Timeout)(&options))
	conn, err := options.CustomDialer.Dial("tcp", server.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	accepted, err := server.Accept()
	require.NoError(t, err)
	defer accepted.Close()

	_, err = accepted.Write([]byte("INFO"))
	require.NoError(t, err)
	got := make([]byte, 4)
	require.NoError(t, conn.SetDeadline(time.Now().Add(-time.Second)))
	_, err = conn.Read(got)
	require.ErrorIs(t, err, os.ErrDeadlineExceeded, "also where bytes wait")
	require.NoError(t, conn.SetDeadline(time.Time{}))
	n, err := conn.Read(got)
	require.NoError(t, err)
	require.Equal(t, "INFO", string(got[:n]))
}

func TestAConnectionEndsAfterTheSilenceThatWasGiven(t *testing.T) {
	t.Parallel()
	server, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer server.Close()
	var options nats.Options
	require.NoError(t, connection.Dial(&net.Dialer{}, 20*time.Millisecond)(&options))
	conn, err := options.CustomDialer.Dial("tcp", server.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	began := time.Now()
	_, err = conn.Read(make([]byte, 1))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.GreaterOrEqual(t, time.Since(began), 20*time.Millisecond)
}
