package connection_test

import (
	"bufio"
	"log/slog"
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
	require.NoError(t, connection.NewDialer(&net.Dialer{}, wait.Timeout).Use(&options))
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
	require.NoError(t, connection.NewDialer(&net.Dialer{}, 20*time.Millisecond).Use(&options))
	conn, err := options.CustomDialer.Dial("tcp", server.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	began := time.Now()
	_, err = conn.Read(make([]byte, 1))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.GreaterOrEqual(t, time.Since(began), 20*time.Millisecond)
}

// nats.go holds its lock while it writes. If a write hung for longer than the silence, every delivery
// would wait for it, whatever its own time is.
func TestAWriteToAServerThatReadsNothingEndsAfterTheSilence(t *testing.T) {
	t.Parallel()
	server, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer server.Close()
	accepted := make(chan net.Conn, 1)
	go func() {
		conn, err := server.Accept()
		if err != nil {
			return
		}
		_, _ = conn.Write([]byte(`INFO {"server_id":"frozen","max_payload":1048576}` + "\r\n"))
		hello := bufio.NewReader(conn)
		for line := ""; line != "PING\r\n" && err == nil; {
			line, err = hello.ReadString('\n')
		}
		_, _ = conn.Write([]byte("PONG\r\n"))
		accepted <- conn // from now on it reads nothing
	}()
	conn, err := connection.Open("nats://"+server.Addr().String(), slog.New(slog.DiscardHandler),
		connection.NewDialer(&net.Dialer{}, 5*time.Second).Use) // on a busy machine, the handshake can take longer than an instant
	require.NoError(t, err)
	defer conn.Close()
	defer (<-accepted).Close()

	ended := make(chan error, 1)
	go func() {
		for {
			if err := conn.Publish("payments.0", make([]byte, 1<<20)); err != nil {
				ended <- err
				return
			}
		}
	}()
	select {
	case <-ended:
	case <-time.After(wait.Timeout):
		t.Fatal("a write still waits for the server")
	}
}
