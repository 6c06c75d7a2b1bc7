package appends

import "github.com/prometheus/client_golang/prometheus"

// Metrics measure what a Committer does. They are not registered.
type Metrics struct {
	AppendDuration prometheus.Histogram // of successful appends
	FlushDuration  prometheus.Histogram // of the embedded log; a cluster's servers flush
	GroupSize      prometheus.Histogram // of the embedded log
}

func newMetrics() Metrics {
	return Metrics{
		AppendDuration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "payfold_log_append_duration_seconds", Help: "Time from the append of a message until it is durable.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2, 17),
		}),
		FlushDuration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "payfold_log_flush_duration_seconds", Help: "Time of one flush (fsync) of the embedded log.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2, 17),
		}),
		GroupSize: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "payfold_log_group_size", Help: "Messages that share one flush of the embedded log, duplicates included.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 11),
		}),
	}
}
