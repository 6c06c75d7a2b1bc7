// Package ports finds free addresses for servers that restart on the same address, or whose
// address must be known before they start.
package ports

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

// Free uses ports 12000 to 31999. Operating systems give other processes ports from 32768
// on, so no other process takes the port while the server is stopped.
const lowest, number = 12000, 20000

// Free returns a loopback address on which nobody listens.
func Free(t testing.TB) string {
	t.Helper()
	for range 100 {
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", lowest+rand.IntN(number)))
		if err != nil {
			continue // taken
		}
		require.NoError(t, listener.Close())
		return listener.Addr().String()
	}
	require.Fail(t, "no free port")
	return ""
}
