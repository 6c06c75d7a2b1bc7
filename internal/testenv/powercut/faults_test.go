//go:build powercut

package powercut_test

import (
	"context"
	"crypto/sha256"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv/wait"
)

// startUnderLoad returns a machine whose ingest has confirmed some events of a load, which goes on until stop is
// called.
func startUnderLoad(t *testing.T) (m *machine, stop func()) {
	t.Helper()
	m = newMachine(t, rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0)))
	m.createLog()
	require.NoError(t, m.start(nil))
	return m, m.underLoad(t)
}

// underLoad returns when ingest has confirmed some more events of a load, which goes on until stop is called.
func (m *machine) underLoad(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	load := make(chan error, 1)
	go func() { load <- m.load(ctx) }()
	before := m.confirmations()
	wait.Until(t, func() bool { return m.confirmations() > before+100 })
	return func() {
		cancel()
		require.NoError(t, <-load)
	}
}

// requireEndOnFailure runs ingest under load on a disk that begins to fail. It requires that
// ingest ends, and that the disk has every confirmed event after the repair.
func requireEndOnFailure(t *testing.T, fail func(m *machine), repair func(m *machine)) {
	t.Helper()
	var total counts
	m, stop := startUnderLoad(t)
	fail(m)
	require.Equal(t, 1, m.ingest.Exit(t), "only a new process can find out what is durable")
	stop()
	require.Contains(t, m.ingest.Output(), "ingest: the log cannot store any more")
	repair(m)
	require.NoError(t, m.restartAndCheck(&total))
	t.Logf("%+v", total)
}

// After a failed fsync, a second one may succeed although the data is lost.
func TestAfterAFailedFsyncNothingIsConfirmedAndIngestEnds(t *testing.T) {
	requireEndOnFailure(t, (*machine).failSyncs, func(m *machine) { m.restoreDisk(&counts{}) })
}

// What failed fsyncs should have written can still be read, until the power is cut. The next start appends to it.
func TestWhatAFailedFsyncHasNotWrittenIsWrittenByTheNextStart(t *testing.T) {
	requireEndOnFailure(t, (*machine).failSyncs, func(m *machine) {
		m.disk.FailSyncs(false)
		m.syncsFail = false
		require.NoError(t, m.start(nil))
		stop := m.underLoad(t)
		stop()
		m.restoreDisk(&counts{})
	})
}

func (m *machine) failSyncs() {
	m.disk.FailSyncs(true)
	// No event that is sent from now on may be confirmed. The last good fsync may cover
	// events that are under way.
	m.mu.Lock()
	defer m.mu.Unlock()
	m.syncsFail = true
}

// One fsync fails, and those after it succeed. The next start reads what was not written. The provider delivers
// again, and the log already has the event.
func TestWhatAFailedFsyncHasDroppedIsDurableBeforeItIsConfirmed(t *testing.T) {
	var total counts
	m := newMachine(t, rand.New(rand.NewPCG(1, 0)))
	m.createLog()
	require.NoError(t, m.start(nil))
	body := m.body("e_1", 0, m.random)
	m.sent["e_1"] = sha256.Sum256([]byte(body))
	m.disk.FailNextSync(".blk")
	status, _, err := m.provider.Deliver(t.Context(), body)
	require.NoError(t, err)
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Equal(t, 1, m.ingest.Exit(t))

	require.NoError(t, m.start(nil))
	status, answer, err := m.provider.Deliver(t.Context(), body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, string(answer), "duplicate")
	m.confirmed["e_1"] = true
	m.restoreDisk(&total)
	require.NoError(t, m.restartAndCheck(&total))
}

func TestAFullDiskConfirmsNothingItHasNotStored(t *testing.T) {
	requireEndOnFailure(t,
		func(m *machine) { m.disk.Limit(50_000) },
		func(m *machine) { m.disk.Limit(-1) })
}
