// Package supervisor stands for systemd in tests: it takes what programs send to NOTIFY_SOCKET. Of
// payfold it imports only wait, so that the tests of every package can use it.
package supervisor

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv/wait"
)

// Supervisor has a socket for one program.
type Supervisor struct{ connection *net.UnixConn }

// Listen makes the socket with that name. A name that begins with @ is abstract.
func Listen(t testing.TB, name string) *Supervisor {
	t.Helper()
	connection, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	require.NoError(t, err)
	t.Cleanup(func() { _ = connection.Close() })
	return &Supervisor{connection}
}

// Next waits for the next datagram.
func (s *Supervisor) Next(t testing.TB) string {
	t.Helper()
	require.NoError(t, s.connection.SetReadDeadline(time.Now().Add(wait.Timeout)))
	buffer := make([]byte, 64<<10)
	n, err := s.connection.Read(buffer)
	require.NoError(t, err)
	return string(buffer[:n])
}

// Await returns the datagrams up to the one with that text.
func (s *Supervisor) Await(t testing.TB, text string) []string {
	t.Helper()
	var told []string
	for {
		next := s.Next(t)
		told = append(told, next)
		if next == text {
			return told
		}
	}
}
