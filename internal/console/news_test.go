package console

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv/fixture"
	"github.com/payfold/payfold/internal/testenv/wait"
	"github.com/payfold/payfold/internal/testenv/world"
)

func TestPagesAreToldOfEverythingThatTheyShow(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	stop := w.Project(ctx, t, 100)
	require.NoError(t, stop())
	news := newNews(Config{Log: w.Log, Tables: w.Open(ctx, t, store.LiveSchema)})
	last := news.state(ctx)
	requireChange := func(what string, do func()) {
		do()
		wait.Until(t, func() bool {
			// An idle session tells of its changes after ten seconds; before PostgreSQL 15, with its next statement.
			require.NoError(t, w.DB.Ping(ctx))
			now := news.state(ctx)
			changed := now != last
			last = now
			return changed
		}, what)
	}
	info, err := w.Log.Info(ctx)
	require.NoError(t, err)
	candidate := w.Open(ctx, t, "candidate")
	requireChange("a rebuild", func() { require.NoError(t, candidate.Prepare(ctx, info.LogID, info.Partitions, fixture.AnyMode)) })
	requireChange("its progress", func() {
		_, err := w.DB.Exec(ctx, "update candidate.checkpoint set position = 7")
		require.NoError(t, err)
	})
	requireChange("a new invitation", func() {
		_, err := w.DB.Exec(ctx, `insert into payfold.invitation (user_id, repository, provider_payment_id, status, activated_at, due_at, changed_at)
			values ('u', 'a/b', 'p', 'pending', now(), now(), now())`)
		require.NoError(t, err)
	})
	requireChange("its new status", func() {
		_, err := w.DB.Exec(ctx, "update payfold.invitation set status = 'failed'")
		require.NoError(t, err)
	})
}

func TestAPageThatIsClosedMakesRoomForAnother(t *testing.T) {
	t.Parallel()
	news := newNews(Config{})
	for range maxWatchers + 1 {
		_, leave, ok := news.join()
		require.True(t, ok)
		leave()
	}
	for range maxWatchers {
		_, _, ok := news.join()
		require.True(t, ok)
	}
	_, _, ok := news.join()
	require.False(t, ok)
}

// An age grows without a change: that of a lag, after the last projector was killed.
func TestPagesAreToldAgainWhereNothingHasChanged(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	require.NoError(t, w.Project(ctx, t, 100)())
	news := newNews(Config{Log: w.Log, Tables: w.Open(ctx, t, store.LiveSchema)})
	require.Equal(t, time.Minute, news.refresh)
	news.refresh = time.Nanosecond
	watcher, leave, ok := news.join()
	require.True(t, ok)
	defer leave()
	running, end := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- news.run(running) }()
	for range 4 { // when it joined, the first state, and twice without a change
		select {
		case <-watcher:
		case <-time.After(wait.Timeout):
			require.Fail(t, "nothing was told")
		}
	}
	end()
	require.NoError(t, <-ended)
}
