//go:build powercut

package powercut_test

import (
	"crypto/sha256"
	"net/http"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv/wait"
)

func TestOnADiskThatHangsNothingIsConfirmedAndIngestGoesOnAfterIt(t *testing.T) {
	m, stop := startUnderLoad(t)
	body := m.body("e_hang", 0, m.random)
	m.mu.Lock()
	m.sent["e_hang"] = sha256.Sum256([]byte(body))
	m.mu.Unlock()

	goOn := m.disk.Hang()
	status, _, err := m.provider.Deliver(t.Context(), body)
	before := m.confirmations()
	goOn()

	require.NoError(t, err)
	require.Equal(t, http.StatusServiceUnavailable, status)
	wait.Until(t, func() bool { return m.confirmations() > before+100 })
	stop()
	m.ingest.Signal(syscall.SIGTERM)
	require.Zero(t, m.ingest.Exit(t))
	require.NoError(t, m.restartAndCheck(&counts{}))
}
