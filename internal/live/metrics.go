package live

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/payfold/payfold/internal/projections"
)

type metrics struct {
	events      *prometheus.CounterVec
	batch       prometheus.Histogram
	batchSize   prometheus.Histogram
	latency     prometheus.Histogram
	position    prometheus.Gauge
	partitions  prometheus.Gauge
	faults      prometheus.Counter
	setBacks    prometheus.Counter
	quarantined prometheus.Counter
	outOfOrder  prometheus.Counter
	waiting     prometheus.Gauge
	waitingFor  prometheus.Gauge
}

func newMetrics(registerer prometheus.Registerer) *metrics {
	with := promauto.With(registerer)
	m := &metrics{
		events: with.NewCounterVec(prometheus.CounterOpts{
			Name: "payfold_projector_events_total", Help: "Events applied, by outcome and reason.",
		}, []string{"outcome", "reason"}),
		batch: with.NewHistogram(prometheus.HistogramOpts{
			Name: "payfold_projector_batch_duration_seconds", Help: "Time of one batch's transaction.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 14),
		}),
		batchSize: with.NewHistogram(prometheus.HistogramOpts{
			Name: "payfold_projector_batch_size_events", Help: "Events that one transaction applied, duplicates included.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 15),
		}),
		latency: with.NewHistogram(prometheus.HistogramOpts{
			Name: "payfold_projector_visible_seconds", Help: "Time from ingest's receipt of an event to its committed row.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 18),
		}),
		position: with.NewGauge(prometheus.GaugeOpts{
			Name: "payfold_projector_position", Help: "Sequence of the newest message applied.",
		}),
		partitions: with.NewGauge(prometheus.GaugeOpts{
			Name: "payfold_projector_partitions", Help: "Partitions this projector holds.",
		}),
		quarantined: with.NewCounter(prometheus.CounterOpts{
			Name: "payfold_projector_quarantined_total", Help: "Events found whose rows the database refuses.",
		}),
		outOfOrder: with.NewCounter(prometheus.CounterOpts{
			Name: "payfold_projector_out_of_order_events_total",
			Help: "Events applied after a later one that shares a name with them.",
		}),
		waiting: with.NewGauge(prometheus.GaugeOpts{
			Name: "payfold_projector_payments_waiting", Help: "Payments that wait for the event which brings their user.",
		}),
		waitingFor: with.NewGauge(prometheus.GaugeOpts{
			Name: "payfold_projector_payments_waiting_oldest_seconds", Help: "Time since the oldest payment that waits for its user, by the provider's time; 0 where none waits.",
		}),
		faults: with.NewCounter(prometheus.CounterOpts{
			Name: "payfold_projector_faults_total", Help: "Times the work of the projector was interrupted, by the log or the database. The tries until it works again do not count.",
		}),
		setBacks: with.NewCounter(prometheus.CounterOpts{
			Name: "payfold_projector_set_backs_total", Help: "Times the tables were at earlier positions than this projector had seen: the database had lost commits.",
		}),
	}
	for _, reason := range projections.Reasons { // an alert sees no increase of a counter that begins with 1
		m.events.WithLabelValues(string(projections.Rejected), string(reason))
	}
	return m
}

// measureInterval is how often the payments that wait for their user are counted.
const measureInterval = 10 * time.Second

// measure counts the payments that wait for their user. The metrics keep their values
// if the database does not answer.
func (p *Projector) measure(ctx context.Context) {
	if time.Since(p.measured) < measureInterval {
		return
	}
	p.measured = time.Now()
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	waiting, err := p.tables.Waiting(ctx)
	if err != nil {
		p.Logger.DebugContext(ctx, "the payments that wait for their user are not counted", "error", err)
		return
	}
	p.metrics.waiting.Set(float64(waiting.Payments))
	p.metrics.waitingFor.Set(waiting.Seconds)
}

// observe measures a committed batch, and logs its out-of-order events.
func (p *Projector) observe(ctx context.Context, result Result, began time.Time, position uint64) {
	m, now := p.metrics, time.Now()
	if size := len(result.Events) + result.Duplicates; size > 0 {
		m.batch.Observe(now.Sub(began).Seconds())
		m.batchSize.Observe(float64(size))
	}
	for _, e := range result.Events {
		m.events.WithLabelValues(e.Outcome, e.Reason).Inc()
		m.latency.Observe(now.Sub(e.ReceivedAt).Seconds())
	}
	m.events.WithLabelValues(outcomeDuplicate, "").Add(float64(result.Duplicates))
	m.outOfOrder.Add(float64(result.OutOfOrder))
	m.position.Set(float64(position))
	if result.OutOfOrder > 0 {
		p.Logger.WarnContext(ctx, "out-of-order events were applied; to settle them: projector settle; see payfold.out_of_order_event",
			"events", result.OutOfOrder)
	}
}
