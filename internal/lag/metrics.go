package lag

import (
	"github.com/prometheus/client_golang/prometheus"
)

// collector shows what a Meter has found. A metric has no value while the Meter does not know it.
type collector struct {
	meter *Meter

	messages, seconds, members, unleased, quarantined, position, head *prometheus.Desc
}

// Without an answer of the database the tables count as unchanged, although another projector may have
// applied what waits. So a lag is never too small, and the smallest is right.
const smallest = " One that does not reach the database tells too much."

func newCollector(m *Meter) *collector {
	return &collector{
		meter: m,
		messages: prometheus.NewDesc("payfold_projector_lag_messages",
			"Messages of the log that the tables do not have."+smallest, nil, nil),
		seconds: prometheus.NewDesc("payfold_projector_lag_seconds",
			"Time since ingest received the oldest message that the tables do not have; 0 if there is none."+smallest, nil, nil),
		members: prometheus.NewDesc("payfold_projector_members",
			"Projectors with a recent heartbeat.", nil, nil),
		unleased: prometheus.NewDesc("payfold_projector_unleased_partitions",
			"Partitions that no projector works on.", nil, nil),
		quarantined: prometheus.NewDesc("payfold_projector_quarantined_events",
			"Events of the log that are rejected because the database refused their rows: somebody has to look.", nil, nil),
		position: prometheus.NewDesc("payfold_rebuild_position",
			"Sequence up to which a rebuild has folded the log into the tables of that schema.", []string{"schema"}, nil),
		head: prometheus.NewDesc("payfold_rebuild_head",
			"Sequence at which the tables of that schema are complete: the newest of the log, or the one they end at.", []string{"schema"}, nil),
	}
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(descs chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{c.messages, c.seconds, c.members, c.unleased, c.quarantined, c.position, c.head} {
		descs <- desc
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(metrics chan<- prometheus.Metric) {
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		metrics <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	c.meter.mu.Lock()
	defer c.meter.mu.Unlock()
	// If nothing waited at the last successful count, and counting fails now, the lag is unknown.
	if lag := c.meter.measured; lag != nil && (lag.Count > 0 || !c.meter.failing) {
		gauge(c.messages, float64(lag.Count))
		gauge(c.seconds, lag.age(c.meter.failing).Seconds())
	}
	tables := c.meter.tables
	if tables == nil {
		return
	}
	gauge(c.members, float64(tables.members))
	gauge(c.unleased, float64(tables.unleased))
	gauge(c.quarantined, float64(tables.quarantined))
	for _, schema := range tables.candidates {
		gauge(c.position, float64(schema.Position), schema.Name)
		switch {
		case schema.UntilSeq != nil:
			gauge(c.head, float64(*schema.UntilSeq), schema.Name)
		case c.meter.head > 0:
			gauge(c.head, float64(c.meter.head), schema.Name)
		}
	}
}
