package live_test

import (
	"context"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/live"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/fixture"
	"github.com/payfold/payfold/internal/testenv/wait"
	"github.com/payfold/payfold/internal/testenv/world"
)

// The database answers reads and refuses writes, in many tries of a projector.
func TestAnOutageOfTheDatabaseLeavesNoReadersBehind(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	server := testenv.NewNATS(t)
	server.CreateStream(ctx, t, 8)
	log := server.Log(t)
	database := w.OpenAs(ctx, t, "p1")
	defer database.Close()
	config := w.Config(t, database, fixture.AnyMode)
	registry := prometheus.NewRegistry()
	config.Log, config.Registerer = log, registry
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- live.New(config).Run(running) }()
	appendTo(ctx, t, log, fixture.Pack("e1", "p1", "u1", 1))
	awaitProcessed(ctx, w, t, 1)

	_, err := w.DB.Exec(ctx, "alter table portal.processed_event add constraint nothing check (event_id = 'e1')")
	require.NoError(t, err)
	appendTo(ctx, t, log, fixture.Pack("e2", "p2", "u1", 1), fixture.Pack("e3", "p3", "u1", 1))
	const tries = 8
	before := world.Faults(t, registry)
	most := 0
	wait.Until(t, func() bool {
		most = max(most, server.Consumers(ctx, t))
		return world.Faults(t, registry) >= before+tries
	})
	require.LessOrEqual(t, most, 1, "one projector reads once")

	_, err = w.DB.Exec(ctx, "alter table portal.processed_event drop constraint nothing")
	require.NoError(t, err)
	awaitProcessed(ctx, w, t, 3)
	stop()
	require.NoError(t, <-ended)
	require.Zero(t, server.Consumers(context.WithoutCancel(ctx), t))
}
