package live_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/live"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/fixture"
	"github.com/payfold/payfold/internal/testenv/wait"
	"github.com/payfold/payfold/internal/testenv/world"
)

func TestALogThatMayLoseEventsIsNotProjected(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	server := testenv.NewNATS(t)
	server.CreateStream(ctx, t, 8)
	log := server.Log(t)
	database := w.OpenAs(ctx, t, "p1")
	defer database.Close()
	config := w.Config(t, database, fixture.AnyMode)
	config.Log = log
	p := live.New(config)
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- p.Run(running) }()
	appendTo(ctx, t, log, fixture.Pack("e1", "p1", "u1", 1))
	awaitProcessed(ctx, w, t, 1)

	stream, err := server.JetStream.Stream(ctx, testenv.Stream)
	require.NoError(t, err)
	good := stream.CachedInfo().Config
	bad := good
	bad.MaxMsgs = 1000
	_, err = server.JetStream.UpdateStream(ctx, bad)
	require.NoError(t, err)
	wait.Until(t, func() bool {
		err := p.Ready(ctx)
		return err != nil && strings.Contains(err.Error(), "does not keep every event as it is for ever: max_msgs is 1000")
	})

	_, err = server.JetStream.UpdateStream(ctx, good)
	require.NoError(t, err)
	appendTo(ctx, t, log, fixture.Pack("e2", "p2", "u1", 1))
	awaitProcessed(ctx, w, t, 2)
	require.NoError(t, p.Ready(ctx))
	stop()
	require.NoError(t, <-ended)
}
