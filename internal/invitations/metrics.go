package invitations

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type metrics struct {
	sent     prometheus.Counter
	attempts *prometheus.CounterVec
	problems *prometheus.CounterVec
	state    *prometheus.GaugeVec
	quota    *prometheus.GaugeVec // has one value, or none
	paused   *prometheus.GaugeVec
	duration prometheus.Histogram
}

func newMetrics(registerer prometheus.Registerer) *metrics {
	make := promauto.With(registerer)
	return &metrics{
		sent: make.NewCounter(prometheus.CounterOpts{
			Name: "payfold_invitations_sent_total", Help: "Invitations that GitHub has made.",
		}),
		attempts: make.NewCounterVec(prometheus.CounterOpts{
			Name: "payfold_invitations_attempts_total", Help: "Attempts, by purpose and resulting status.",
		}, []string{"purpose", "status"}),
		problems: make.NewCounterVec(prometheus.CounterOpts{
			Name: "payfold_invitations_problems_total", Help: "Answers that made the inviter wait: limit, denied or fault.",
		}, []string{"cause"}),
		state: make.NewGaugeVec(prometheus.GaugeOpts{
			Name: "payfold_invitations", Help: "Invitations by status. Only the projector that is the leader sets it.",
		}, []string{"status"}),
		quota: make.NewGaugeVec(prometheus.GaugeOpts{
			Name: "payfold_invitations_quota_left", Help: "Invitations that may still be sent in these 24 hours. Only the projector that is the leader sets it.",
		}, nil),
		paused: make.NewGaugeVec(prometheus.GaugeOpts{
			Name: "payfold_invitations_paused", Help: "1 while requests to GitHub are paused, by cause. Only the projector that is the leader sets it.",
		}, []string{"cause"}),
		duration: make.NewHistogram(prometheus.HistogramOpts{
			Name: "payfold_invitations_answer_seconds", Help: "Duration of one attempt with all its requests.",
			Buckets: prometheus.ExponentialBuckets(0.01, 2, 11),
		}),
	}
}

// measure sets the gauges from the database.
func (r *Reconciler) measure(ctx context.Context) error {
	now, err := r.records.figures(ctx)
	if err != nil {
		return err
	}
	for _, status := range Statuses {
		r.metrics.state.WithLabelValues(status).Set(float64(now.byStatus[status]))
	}
	if r.gitHub != nil {
		r.metrics.quota.WithLabelValues().Set(float64(max(0, r.PerDay-now.used)))
	}
	for _, cause := range []string{PauseLimit, PauseDenied, PauseFault} {
		r.metrics.paused.WithLabelValues(cause).Set(0)
	}
	if now.paused != "" {
		r.metrics.paused.WithLabelValues(now.paused).Set(1)
	}
	return nil
}

// figures are what the gauges show.
type figures struct {
	byStatus map[string]int // number of invitations
	used     int            // attempts in the last 24 hours that count for the quota
	paused   string         // cause of the pause in force; empty: none
}

func (r records) figures(ctx context.Context) (figures, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	out := figures{byStatus: map[string]int{}}
	batch := &pgx.Batch{}
	batch.Queue("select status, count(*) from payfold.invitation where repository = $1 group by 1", r.repository).
		Query(func(rows pgx.Rows) error {
			var status string
			var n int
			_, err := pgx.ForEachRow(rows, []any{&status, &n}, func() error {
				out.byStatus[status] = n
				return nil
			})
			return err
		})
	batch.Queue(`select count(*) from payfold.invitation_attempt where repository = $1 and purpose = 'invite'
		and outcome is distinct from 'not_sent' and reserved_at > $2::timestamptz - interval '24 hours'
		and reserved_at <= $2::timestamptz + $3::interval`, r.repository, r.now(), maxAhead).
		QueryRow(func(row pgx.Row) error { return row.Scan(&out.used) })
	batch.Queue("select coalesce(min(cause), '') from payfold.invitation_pause where repository = $1 and paused_until > $2", r.repository, r.now()).
		QueryRow(func(row pgx.Row) error { return row.Scan(&out.paused) })
	if err := r.tables.Pool().SendBatch(ctx, batch).Close(); err != nil {
		return figures{}, fmt.Errorf("count the invitations: %w", err)
	}
	return out, nil
}

// clearGauges removes the values of a process that is no longer the leader.
func (r *Reconciler) clearGauges() {
	r.metrics.state.Reset()
	r.metrics.paused.Reset()
	r.metrics.quota.Reset()
}

// observe counts and logs the result of an attempt.
func (r *Reconciler) observe(ctx context.Context, attempt *Attempt, done result) {
	next := done.answer.Next
	r.metrics.attempts.WithLabelValues(attempt.Purpose, next.Status).Inc()
	if done.answer.Outcome == OutcomeSent {
		r.metrics.sent.Inc()
	}
	log := r.Logger.With("user_id", attempt.UserID, "status", next.Status, "answer", done.answer.Message)
	if pause := done.pause; pause != nil {
		r.metrics.problems.WithLabelValues(pause.Cause).Inc()
		log = log.With("paused_until", pause.Until.UTC().Truncate(time.Second))
		if pause.Cause == PauseDenied && next.ConsecutiveFailures > attempt.ConsecutiveFailures { // see refused
			log.ErrorContext(ctx, "GitHub refuses to invite or to withdraw; after the pause it is asked about the others first")
			return
		}
		if pause.Cause == PauseDenied {
			log.ErrorContext(ctx, "GitHub refuses the credentials or the repository: no invitation is sent until an operator repairs the cause")
			return
		}
		log.WarnContext(ctx, "the inviter waits for GitHub", "cause", pause.Cause)
		return
	}
	switch {
	case next.Status == Failed && attempt.Status != next.Status:
		log.WarnContext(ctx, "an invitation has failed for good; after repairing the cause, run: projector invitations retry")
	case next.Status != attempt.Status:
		log.InfoContext(ctx, "an invitation has changed")
	}
}
