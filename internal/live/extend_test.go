package live_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/catalogue"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/live"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/rebuild"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv/fixture"
	"github.com/payfold/payfold/internal/testenv/wait"
	"github.com/payfold/payfold/internal/testenv/world"
)

const (
	onePack  = "version: 1\nproducts:\n  pack: {kind: one_time, credits: 25}\n"
	twoPacks = onePack + "  big: {kind: one_time, credits: 100}\n"
)

func rulesOf(t *testing.T, text string) projections.Rules {
	t.Helper()
	c, err := catalogue.Parse([]byte(text))
	require.NoError(t, err)
	return projections.Rules{Mode: projections.ModeAny, Catalogue: c}
}

// buys is an event with which a user buys a product.
func buys(event, user, product string) string {
	return fmt.Sprintf(`{"id":%q,"eventType":"checkout.completed","object":{"provider_payment_id":"t_%s","product":%q,"metadata":{"user_id":%q}}}`,
		event, event, product, user)
}

// withRules runs a projector with these rules.
func withRules(ctx context.Context, t *testing.T, w *world.World, owner string, rules projections.Rules) (p *live.Projector, stop func() error) {
	t.Helper()
	database := w.OpenAs(ctx, t, owner)
	p = live.New(w.Config(t, database, rules))
	return p, world.Run(ctx, t, p, database)
}

func awaitReady(ctx context.Context, t *testing.T, p *live.Projector) {
	t.Helper()
	wait.Until(t, func() bool { return p.Ready(ctx) == nil })
}

func awaitNotReady(ctx context.Context, t *testing.T, p *live.Projector, why string) {
	t.Helper()
	wait.Until(t, func() bool {
		err := p.Ready(ctx)
		return err != nil && strings.Contains(err.Error(), why)
	})
}

// Two projectors get the new file one after the other, while events arrive.
func TestAProductThatNoEventHasNamedNeedsNoRebuild(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	before, after := rulesOf(t, onePack), rulesOf(t, twoPacks)
	first, stopFirst := withRules(ctx, t, w, "first", before)
	second, stopSecond := withRules(ctx, t, w, "second", before)
	awaitReady(ctx, t, first)
	awaitReady(ctx, t, second)
	w.Log.Deliver(t, buys("e1", "u1", "pack"))
	w.WaitApplied(ctx, t)

	require.NoError(t, stopFirst())
	first, _ = withRules(ctx, t, w, "first again", after)
	awaitReady(ctx, t, first)
	w.Log.Deliver(t, buys("e2", "u1", "big"))
	w.WaitApplied(ctx, t)
	require.EqualValues(t, 125, w.Number(ctx, t, "select balance from portal.credits where user_id = 'u1'"))
	awaitNotReady(ctx, t, second, "is later than this one and adds big: start this program with it")
	require.Zero(t, w.Number(ctx, t, "select count(*) from payfold.lease where owner = 'second'"))

	require.NoError(t, stopSecond())
	second, _ = withRules(ctx, t, w, "second again", after)
	awaitReady(ctx, t, second)
	w.Log.Deliver(t, buys("e3", "u2", "pack"), buys("e4", "u3", "big"))
	w.WaitApplied(ctx, t)
	requireFoldOf(ctx, t, w, after)
}

// requireFoldOf requires that the live tables have the rows of a rebuild under these rules.
func requireFoldOf(ctx context.Context, t *testing.T, w *world.World, rules projections.Rules) {
	t.Helper()
	info, err := w.Log.Info(ctx)
	require.NoError(t, err)
	candidate, err := store.Open(ctx, store.Config{DSN: w.DSN, Schema: "again", Owner: "command"})
	require.NoError(t, err)
	defer candidate.Close()
	fold := w.Rebuild(t, candidate, 0)
	fold.Rules = rules
	_, err = (&rebuild.Command{Rebuild: fold}).Run(ctx)
	require.NoError(t, err)
	w.RequireSame(ctx, t, store.LiveSchema, "again")
	require.EqualValues(t, info.Last, w.Number(ctx, t, "select max(position) from portal.checkpoint"))
}

func TestAProductThatAnEventHasNamedNeedsARebuild(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	before, after := rulesOf(t, onePack), rulesOf(t, twoPacks)
	first, _ := withRules(ctx, t, w, "first", before)
	awaitReady(ctx, t, first)
	w.Log.Deliver(t, buys("e1", "u1", "big"))
	w.WaitApplied(ctx, t)
	require.EqualValues(t, 1, w.Number(ctx, t, "select count(*) from portal.processed_event where reason = 'unknown_product'"))

	second, _ := withRules(ctx, t, w, "second", after)
	awaitNotReady(ctx, t, second, "events have named products that this catalogue adds: big; projector rebuild --dry-run shows what changes")
	w.Log.Deliver(t, buys("e2", "u1", "pack"))
	w.WaitApplied(ctx, t)
	require.NoError(t, first.Ready(ctx))
	require.EqualValues(t, 25, w.Number(ctx, t, "select balance from portal.credits where user_id = 'u1'"))
	requireFoldOf(ctx, t, w, before)
}

// An event that names the product is applied while a projector with the new catalogue starts. Exactly one of both comes
// first: the event is rejected and the catalogue needs a rebuild, or the old rules write nothing.
func TestNoEventIsFoldedUnderTwoCatalogues(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	before, after := rulesOf(t, onePack), rulesOf(t, twoPacks)
	event := fixture.Event(t, 1, buys("e1", "u1", "big"))
	wins := map[bool]int{}
	for round := range 60 {
		fixture.Reset(ctx, t, s, before)
		var applied, prepared error
		var both sync.WaitGroup
		both.Go(func() {
			for range round { // each round trip gives the other one more time
				require.NoError(t, s.Ping(ctx))
			}
			_, applied = live.Apply(ctx, s, before, []events.Event{event}, store.Advance{LogID: "log-1", From: fixture.From(0, 0), To: 1})
		})
		both.Go(func() { prepared = s.Prepare(ctx, "log-1", fixture.Partitions, after) })
		both.Wait()
		require.NotEqual(t, applied == nil, prepared == nil, "%v %v", applied, prepared)
		require.ErrorIs(t, errors.Join(applied, prepared), store.ErrFoldID)
		rejected := fixture.Number(ctx, t, s, "select count(*) from processed_event where reason = 'unknown_product'")
		require.Equal(t, applied == nil, rejected == 1)
		wins[applied == nil]++
	}
	require.Len(t, wins, 2, "both came first in some round")
}

func TestABatchUnderWayIsWrittenBeforeTheCatalogueChanges(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	before, after := rulesOf(t, onePack), rulesOf(t, twoPacks)
	fixture.Reset(ctx, t, s, before)
	batch, err := s.Pool().Begin(ctx)
	require.NoError(t, err)
	_, err = batch.Exec(ctx, "select pg_advisory_xact_lock_shared($1)", int64(store.PromoteLock))
	require.NoError(t, err)
	_, err = batch.Exec(ctx, "insert into unlisted_product values ('big')")
	require.NoError(t, err)
	prepared := make(chan error, 1)
	go func() { prepared <- s.Prepare(ctx, "log-1", fixture.Partitions, after) }()
	wait.Until(t, func() bool {
		return fixture.Number(ctx, t, s, "select count(*) from pg_locks where locktype = 'advisory' and not granted and database = (select oid from pg_database where datname = current_database())") == 1
	})
	require.NoError(t, batch.Commit(ctx))
	require.ErrorContains(t, <-prepared, "events have named products that this catalogue adds: big")
}
