package live_test

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/live"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/fixture"
	"github.com/payfold/payfold/internal/testenv/metrics"
	"github.com/payfold/payfold/internal/testenv/wait"
	"github.com/payfold/payfold/internal/testenv/world"
)

func TestPaymentsThatWaitForTheirUserAreMeasured(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	stop := w.Start(ctx, t, 10)
	w.Log.Deliver(t, `{"id":"e1","eventType":"subscription.paid","created_at":"2026-01-01T00:00:00Z","object":{"id":"s1","last_transaction_id":"t1","credits":9}}`)
	w.WaitApplied(ctx, t)
	require.NoError(t, stop())

	database := w.OpenAs(ctx, t, "measures")
	config := w.Config(t, database, fixture.AnyMode)
	world.Run(ctx, t, live.New(config), database)
	registry := config.Registerer.(*prometheus.Registry)
	wait.Until(t, func() bool { return metrics.Values(t, registry)["payfold_projector_payments_waiting"] == 1 }, "the payment is measured")
	require.Greater(t, metrics.Values(t, registry)["payfold_projector_payments_waiting_oldest_seconds"], float64(24*60*60))
}

func TestTheSizeOfBatchesIsMeasured(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	database := w.OpenAs(ctx, t, "measures")
	config := w.Config(t, database, fixture.AnyMode)
	w.Log.Deliver(t, fixture.Pack("e1", "p1", "u1", 1), fixture.Pack("e2", "p2", "u2", 1), fixture.Pack("e3", "p3", "u3", 1))
	world.Run(ctx, t, live.New(config), database)
	wait.Until(t, func() bool {
		families, err := config.Registerer.(*prometheus.Registry).Gather()
		require.NoError(t, err)
		for _, family := range families {
			if family.GetName() == "payfold_projector_batch_size_events" {
				return family.GetMetric()[0].GetHistogram().GetSampleSum() == 3
			}
		}
		return false
	})
}

func TestEveryRejectionIsCountedFromZero(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	config := w.Config(t, w.Open(ctx, t, "portal"), fixture.AnyMode)
	live.New(config)
	counted := 0
	for name := range metrics.Values(t, config.Registerer.(*prometheus.Registry)) {
		if strings.HasPrefix(name, "payfold_projector_events_total ") {
			counted++
		}
	}
	require.Equal(t, len(projections.Reasons), counted)
}

func TestWhatABatchDidIsCounted(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	_, err := s.Pool().Exec(ctx, "alter table credit_ledger add constraint unforeseen check (delta <> 13)")
	require.NoError(t, err)
	_, err = live.Apply(ctx, s, fixture.AnyMode, []events.Event{fixture.Event(t, 9, fixture.Pack("e9", "p9", "u1", 1))}, store.Advance{LogID: "log-1", From: fixture.From(3, 0), To: 9})
	require.NoError(t, err)
	registry := prometheus.NewRegistry()
	p := live.New(live.Config{Store: s, Rules: fixture.AnyMode, BatchSize: 1000, Logger: testenv.Logger(t), Registerer: registry})
	f := p.Follower("log-1", fixture.Partitions, 0, 0, 1, 2)
	require.NoError(t, f.ApplyLast(ctx, message(1, fixture.Pack("e1", "p1", "u1", 1)), message(2, fixture.Pack("e2", "p2", "u2", 13)), message(3, fixture.Pack("e1", "p1", "u1", 1))))
	counted := metrics.Values(t, registry)
	for name, want := range map[string]float64{
		"payfold_projector_events_total applied ":          1,
		"payfold_projector_events_total duplicate_event ":  1,
		"payfold_projector_events_total rejected internal": 1,
		"payfold_projector_out_of_order_events_total":      1,
		"payfold_projector_quarantined_total":              1,
		"payfold_projector_visible_seconds":                2,
		"payfold_projector_position":                       3,
	} {
		require.Equal(t, want, counted[name], name)
	}
}
