package invitations

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/telemetry/traces"
)

// gitHub is what the reconciler needs of GitHub. Every error is a *problem.
type gitHub interface {
	Look(ctx context.Context, user string, recorded *int64) (access, error)
	Invite(ctx context.Context, user string) (*invitation, error) // nil: the user has access already
	Cancel(ctx context.Context, id int64) error
	Remove(ctx context.Context, user string) error
}

// database is what the reconciler needs of the database; see records. Each method is one transaction, or a few
// statements that may be executed apart.
type database interface {
	lead(ctx context.Context, repository string, work func(ctx context.Context, changed <-chan []string) error) error
	resume(ctx context.Context) error
	scan(ctx context.Context, users []string) error
	reserve(ctx context.Context, perDay int) (*Attempt, error)
	asking(ctx context.Context, attempt *Attempt) error
	record(ctx context.Context, attempt *Attempt, answer Answer) error
	pause(ctx context.Context, pause Pause) error
	figures(ctx context.Context) (figures, error)
}

// Config is what a reconciler works with.
type Config struct {
	Store          *store.Store
	GitHub         *GitHub // nil: no requests; invitations stay pending
	Repository     string  // owner/name; empty only without GitHub
	PerDay         int     // maximum number of invitations in 24 hours
	RemoveOnRevoke bool    // a refund also removes the access of users who have accepted
	Logger         *slog.Logger
	Registerer     prometheus.Registerer
	Now            func() time.Time
	Tracer         *traces.Tracer // nil: no traces
	// DeliveryOf returns the trace context (traceparent) of the delivery at a sequence of the
	// log. Only a Tracer needs it.
	DeliveryOf func(ctx context.Context, seq uint64) (string, error)
}

// Reconciler makes the invitations at GitHub match the purchases. Any number of
// reconcilers may run on one database. One of them works at a time; two at once would do
// no harm.
type Reconciler struct {
	Config
	records database
	gitHub  gitHub
	jitter  func() float64 // in [0, 1)
	metrics *metrics

	attemptTimeout      time.Duration
	scanInterval        time.Duration // between two scans of all purchases
	consecutiveFailures int           // problems in a row that concern every invitation
	restsUntil          time.Time     // until then, notifications cause no scan
}

// New returns a reconciler.
func New(config Config) *Reconciler {
	r := &Reconciler{
		Config: config, records: records{config.Store, config.Repository, config.Now, defaultTimeout},
		jitter: rand.Float64, metrics: newMetrics(config.Registerer),
		attemptTimeout: defaultAttemptTimeout, scanInterval: defaultScanInterval,
	}
	if config.GitHub != nil {
		r.gitHub = config.GitHub
	}
	return r
}

const (
	// defaultAttemptTimeout bounds all calls of one attempt together. GitHub itself ends
	// a request after 10 seconds.
	defaultAttemptTimeout = 12 * time.Second
	// attemptExpiry is the age at which an attempt without an answer has expired. It is
	// longer than the timeout, because the clocks of two processes may differ.
	attemptExpiry = 20 * time.Second
	// lateAction is how long after a lost answer GitHub may still act on the request. GitHub ends a
	// request after 10 seconds; a proxy in front of GitHub may hold a request longer.
	lateAction = 30 * time.Second
	// recordTimeout bounds the record of an answer. A process that stops still records the answer.
	recordTimeout = 3 * time.Second
)

// next makes one attempt: reserve, look, ask, record. It returns false if nothing was due.
func (r *Reconciler) next(ctx context.Context) (worked bool, err error) {
	if r.gitHub == nil {
		return false, nil
	}
	attempt, err := r.records.reserve(ctx, r.PerDay)
	if err != nil || attempt == nil {
		return false, err
	}
	traced, span := r.startAttempt(ctx, attempt)
	calls, cancel := context.WithTimeout(traced, r.attemptTimeout)
	began := time.Now()
	result := r.perform(calls, attempt)
	endAttempt(span, result)
	r.metrics.duration.Observe(time.Since(began).Seconds())
	cancel()
	if ctx.Err() != nil && result.pause != nil { // the process stops; GitHub did not fail
		result.pause = nil
		result.answer.Next = attempt.Invitation
	}
	ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	if result.pause != nil {
		if err := r.records.pause(ctx, *result.pause); err != nil {
			return true, err
		}
	}
	if err = result.err; err == nil {
		err = r.records.record(ctx, attempt, result.answer)
	}
	if errors.Is(err, errAttemptExpired) {
		r.Logger.WarnContext(ctx, "GitHub's answer came too late; the next attempt finds out what was done", "user_id", attempt.UserID)
		return true, nil
	}
	if err != nil {
		return true, err
	}
	r.observe(ctx, attempt, result)
	return true, nil
}

// result is the answer to an attempt, and what it means for other invitations.
type result struct {
	answer Answer
	pause  *Pause // of all invitations; nil: none
	err    error  // of the database: GitHub was not asked, and there is no answer
}

// perform makes the requests that the purpose of the attempt needs.
func (r *Reconciler) perform(ctx context.Context, attempt *Attempt) result {
	if !githubName.MatchString(*attempt.GitHubUser) { // never sent to GitHub
		status := Failed
		if attempt.Purpose == AttemptWithdraw {
			status = Withdrawn
		}
		return r.concluded(attempt, status, "not the name of a GitHub user")
	}
	known, err := r.gitHub.Look(ctx, *attempt.GitHubUser, attempt.InvitationID)
	if err != nil {
		return r.retryLater(attempt, asDenied(err), OutcomeNotSent)
	}
	var done result
	switch attempt.Purpose {
	case AttemptInvite:
		done = r.invite(ctx, attempt, known)
	case AttemptWithdraw:
		done = r.withdraw(ctx, attempt, known)
	default:
		done = r.watch(ctx, attempt, known)
	}
	if done.err != nil {
		return done
	}
	if done.pause == nil {
		r.consecutiveFailures = 0
	}
	if !known.open() || attempt.isSomebodyElses(known.pending) { // a user has at most one invitation at GitHub
		done.answer.Ended = OutcomeNotSent
	}
	return done
}
