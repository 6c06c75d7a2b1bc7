package lag_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/lag"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/metrics"
	"github.com/payfold/payfold/internal/testenv/wait"
	"github.com/payfold/payfold/internal/testenv/world"
)

func TestMain(m *testing.M) { os.Exit(testenv.RunWithPostgres(m)) }

// meter is a Meter that runs.
type meter struct {
	database *store.Store
	log      *testenv.Log
	registry *prometheus.Registry
	running  *lag.Meter
}

func measure(ctx context.Context, t *testing.T, w *world.World) *meter {
	t.Helper()
	database := w.OpenAs(ctx, t, "meter")
	m := &meter{database: database, log: w.Log, registry: prometheus.NewRegistry()}
	running := lag.NewMeter(lag.Config{
		Log: w.Log.Reader(t), Store: database, Logger: testenv.Logger(t), Registerer: m.registry, Interval: 10 * time.Millisecond,
	})
	m.running = running
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- running.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
		database.Close()
	})
	return m
}

// measureApplied returns a meter of a log that is applied. Nobody projects any more.
func measureApplied(t *testing.T) (*world.World, *meter) {
	t.Helper()
	ctx, w := world.New(t)
	stop := w.Start(ctx, t, 10)
	m := measure(ctx, t, w)
	wait.Until(t, func() bool { return m.is(t, messages, 0) })
	require.NoError(t, stop())
	return w, m
}

// values returns the values of a gauge by its label, or by an empty string.
func (m *meter) values(t *testing.T, name string) map[string]float64 {
	t.Helper()
	values := map[string]float64{}
	for full, value := range metrics.Values(t, m.registry) {
		if label, is := strings.CutPrefix(full+" ", name+" "); is {
			values[strings.TrimSuffix(label, " ")] = value
		}
	}
	return values
}

// is reports whether a gauge without labels has that value.
func (m *meter) is(t *testing.T, name string, value float64) bool {
	t.Helper()
	got, known := m.values(t, name)[""]
	return known && got == value
}
