//go:build powercut

package powercut_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv/wait"
)

// failing runs ingest under load on a disk that begins to fail, and requires that
// it ends by itself and that nothing confirmed is missing on the disk that is left.
func failing(t *testing.T, fail func(m *machine), heal func(m *machine)) {
	t.Helper()
	var total tally
	m := newMachine(t, rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0)))
	m.settle()
	require.NoError(t, m.start(nil))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	load := make(chan error, 1)
	go func() { load <- m.load(ctx) }()
	wait.Until(t, func() bool { return m.confirmations() > 100 })
	fail(m)
	require.Equal(t, 1, m.ingest.Exit(t), "only a new process can find out what is durable")
	cancel()
	require.NoError(t, <-load)
	require.Contains(t, m.ingest.Output(), "ingest: the log cannot store any more")
	heal(m)
	require.NoError(t, m.look(&total))
	t.Logf("%+v", total)
}

// A second fsync may report success for what the first one lost.
func TestAfterAFailedFsyncNothingIsConfirmedAndIngestEnds(t *testing.T) {
	failing(t, func(m *machine) {
		m.disk.FailSyncs()
		// What is sent from here on must not be confirmed; what is under way was
		// perhaps covered by the last good fsync.
		m.mu.Lock()
		defer m.mu.Unlock()
		m.hopeless = true
	}, func(m *machine) { m.endCut(&tally{}) })
}

func TestAFullDiskConfirmsNothingItHasNotStored(t *testing.T) {
	failing(t,
		func(m *machine) { m.disk.Limit(50_000) },
		func(m *machine) { m.disk.Limit(-1) })
}
