// Package ports finds addresses for servers that are stopped and started again on
// the same one, or whose address must be known before they start.
package ports

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

// The ports from which no system takes the ones it gives out by itself: Linux and
// the others begin at 32768. Whatever else runs on the machine asks for port 0 or
// connects somewhere, and so never gets one of these while its server is away.
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
