package invitations

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type metrics struct {
	sent     prometheus.Counter
	attempts *prometheus.CounterVec
	problems *prometheus.CounterVec
	state    *prometheus.GaugeVec
	quota    prometheus.Gauge
	paused   *prometheus.GaugeVec
	duration prometheus.Histogram
}

func newMetrics(registerer prometheus.Registerer, perDay int) *metrics {
	make := promauto.With(registerer)
	m := &metrics{
		sent: make.NewCounter(prometheus.CounterOpts{
			Name: "payfold_invitations_sent_total", Help: "Invitations that GitHub has made.",
		}),
		attempts: make.NewCounterVec(prometheus.CounterOpts{
			Name: "payfold_invitations_attempts_total", Help: "Attempts, by purpose and what they led to.",
		}, []string{"purpose", "status"}),
		problems: make.NewCounterVec(prometheus.CounterOpts{
			Name: "payfold_invitations_problems_total", Help: "Answers that made the inviter wait: limit, denied or fault.",
		}, []string{"cause"}),
		state: make.NewGaugeVec(prometheus.GaugeOpts{
			Name: "payfold_invitations", Help: "Invitations by status; pending ones wait. Only of the projector that invites.",
		}, []string{"status"}),
		quota: make.NewGauge(prometheus.GaugeOpts{
			Name: "payfold_invitations_quota_left", Help: "Invitations that may still be sent in these 24 hours. Only of the projector that invites.",
		}),
		paused: make.NewGaugeVec(prometheus.GaugeOpts{
			Name: "payfold_invitations_paused", Help: "1 while nothing is asked of GitHub, by cause. Only of the projector that invites.",
		}, []string{"cause"}),
		duration: make.NewHistogram(prometheus.HistogramOpts{
			Name: "payfold_invitations_answer_seconds", Help: "Time of one attempt, all its calls together.",
			Buckets: prometheus.ExponentialBuckets(0.01, 2, 11),
		}),
	}
	m.quota.Set(float64(perDay))
	return m
}

var (
	statuses = []string{
		Pending, Invited, Collaborator, Failed,
		Expired, Declined, Withdrawn,
	}
	causes = []string{PauseLimit, PauseDenied, PauseFault}
)

// measure sets the gauges to what the database says.
func (r *Reconciler) measure(ctx context.Context) error {
	byStatus, used, err := r.records.counts(ctx, r.Repository, r.Now())
	if err != nil {
		return err
	}
	pauses, err := Pauses(ctx, r.Store, r.Now())
	if err != nil {
		return err
	}
	for _, status := range statuses {
		r.metrics.state.WithLabelValues(status).Set(float64(byStatus[status]))
	}
	r.metrics.quota.Set(float64(max(0, r.PerDay-used)))
	for _, cause := range causes {
		r.metrics.paused.WithLabelValues(cause).Set(0)
	}
	for _, pause := range pauses {
		if pause.Repository == r.Repository {
			r.metrics.paused.WithLabelValues(pause.Cause).Set(1)
		}
	}
	return nil
}

// standDown: this process does not invite any more.
func (r *Reconciler) standDown() {
	r.metrics.state.Reset()
	r.metrics.paused.Reset()
	r.metrics.quota.Set(0)
}

// observe counts and says what an attempt has led to.
func (r *Reconciler) observe(ctx context.Context, attempt *Attempt, done result) {
	next := done.answer.Next
	r.metrics.attempts.WithLabelValues(attempt.Purpose, next.Status).Inc()
	if done.answer.Outcome == OutcomeSent {
		r.metrics.sent.Inc()
	}
	log := r.Logger.With("user_id", attempt.UserID, "status", next.Status, "answer", done.answer.Words)
	if pause := done.pause; pause != nil {
		r.metrics.problems.WithLabelValues(pause.Cause).Inc()
		log = log.With("paused_until", pause.Until.UTC().Truncate(time.Second))
		if pause.Cause == PauseDenied {
			log.ErrorContext(ctx, "GitHub refuses the inviter: nothing is sent until that is repaired")
			return
		}
		log.WarnContext(ctx, "the inviter waits for GitHub", "cause", pause.Cause)
		return
	}
	switch {
	case next.Status == Failed && attempt.Status != next.Status:
		log.WarnContext(ctx, "GitHub refuses an invitation; once the cause is gone: projector invitations retry")
	case next.Status != attempt.Status:
		log.InfoContext(ctx, "an invitation has changed")
	}
}
