package pull_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/providerapi"
	"github.com/payfold/payfold/internal/providers"
	"github.com/payfold/payfold/internal/pull"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/payapi"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

// watchedLog counts the appends, and fails those that the test says.
type watchedLog struct {
	*testenv.Log
	fail     func(d events.Delivery) error
	appended atomic.Int64
}

func (l *watchedLog) Append(ctx context.Context, d events.Delivery) (bool, error) {
	if l.fail != nil {
		if err := l.fail(d); err != nil {
			return false, err
		}
	}
	l.appended.Add(1)
	return l.Log.Append(ctx, d)
}

// world is a provider, a log, and what pulls from one to the other.
type world struct {
	t         *testing.T
	provider  string
	api       *payapi.Server
	log       *watchedLog
	registry  *prometheus.Registry
	metrics   *pull.Metrics
	secrets   []providers.Secret
	maxBody   int64
	key       string
	complete  []time.Time
	notBefore time.Time
}

func setup(t *testing.T, provider string) *world {
	t.Helper()
	w := &world{
		t: t, provider: provider, api: payapi.New(t, provider), log: &watchedLog{Log: testenv.NewLog(t, 4)},
		registry: prometheus.NewRegistry(), maxBody: 1000, key: payapi.Key,
	}
	w.metrics = pull.NewMetrics(w.registry)
	return w
}

// puller is that of a process that has just started.
func (w *world) puller() *pull.Puller {
	w.t.Helper()
	key, err := providerapi.NewKey(w.key)
	require.NoError(w.t, err)
	client, err := providerapi.New(providerapi.Config{
		Provider: w.provider, URL: w.api.URL, Key: key, WebhookID: payapi.WebhookID, RetryWait: time.Millisecond,
	})
	require.NoError(w.t, err)
	w.t.Cleanup(client.Close)
	return pull.New(pull.Config{
		API: client, Secrets: w.secrets, MaxBodyBytes: w.maxBody, AppendTimeout: 10 * time.Second, Interval: time.Millisecond,
		NotBefore: w.notBefore,
		Logger:    testenv.Logger(w.t), Metrics: w.metrics,
		Complete: func(_ string, began time.Time) { w.complete = append(w.complete, began) },
	}, w.log)
}

// happened adds events of the last hours to the provider, the newest five minutes ahead of our clock.
func (w *world) happened(count int) []payapi.Event {
	newest, list := time.Now().Add(5*time.Minute), make([]payapi.Event, count)
	for i := range list {
		list[i] = payapi.NewEvent(w.provider, i, newest.Add(-time.Duration(count-i)*time.Second))
	}
	w.api.Add(list...)
	return list
}

// delivery is an event as its webhook delivers it.
func (w *world) delivery(e payapi.Event) events.Delivery { return w.deliveryOf(w.t, e) }

func (w *world) deliveryOf(t testing.TB, e payapi.Event) events.Delivery {
	t.Helper()
	event, err := providers.Named(w.provider).Parse([]byte(e.Body), e.ID)
	require.NoError(t, err)
	return events.Delivery{Event: event, Body: []byte(e.Body), Provider: w.provider, ReceivedAt: time.Now()}
}

// stored returns all messages of the log.
func (w *world) stored() (list []events.Message) {
	w.t.Helper()
	info, err := w.log.Info(w.t.Context())
	require.NoError(w.t, err)
	if info.Last == 0 {
		return nil
	}
	require.NoError(w.t, w.log.ReadUntil(w.t.Context(), 1, info.Last, func(m events.Message) error {
		m.Body = slices.Clone(m.Body)
		list = append(list, m)
		return nil
	}))
	return list
}

// requireEachOnce requires that the log has these events, each once.
func (w *world) requireEachOnce(want []payapi.Event) {
	w.t.Helper()
	var have, ids []string
	for _, m := range w.stored() {
		have = append(have, m.ID)
	}
	for _, e := range want {
		ids = append(ids, e.ID)
	}
	slices.Sort(have)
	slices.Sort(ids)
	require.Equal(w.t, ids, have)
}

// metric is the value of a metric of the provider.
func (w *world) metric(name string, outcome string) float64 {
	w.t.Helper()
	families, err := w.registry.Gather()
	require.NoError(w.t, err)
	for _, family := range families {
		for _, m := range family.Metric {
			labels := fmt.Sprint(m.Label)
			if family.GetName() == name && (outcome == "" || slices.ContainsFunc(m.Label, func(l *labelPair) bool { return l.GetValue() == outcome })) {
				require.Contains(w.t, labels, w.provider)
				return m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}
	}
	w.t.Fatalf("there is no metric %s of %s", name, outcome)
	return 0
}
