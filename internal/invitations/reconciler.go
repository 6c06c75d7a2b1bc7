package invitations

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/payfold/payfold/internal/store"
)

// gitHub is what the reconciler needs of GitHub. Every error is a *problem.
type gitHub interface {
	Look(ctx context.Context, user string) (standing, error)
	Invite(ctx context.Context, user string) (*invitation, error) // nil: has access already
	Cancel(ctx context.Context, id int64) error
	Remove(ctx context.Context, user string) error
}

// Config is what a reconciler works with.
type Config struct {
	Store          *store.Store
	GitHub         *GitHub // nil: nothing is asked, what there is to send waits as pending
	Repository     string  // owner/name; empty only without GitHub
	PerDay         int     // most invitations in 24 hours
	RemoveOnRevoke bool    // take the access of those who accepted, too
	Logger         *slog.Logger
	Registerer     prometheus.Registerer
	Now            func() time.Time
}

// Reconciler brings GitHub's invitations to what the purchases say. Any number of
// them may run on one database: one works at a time, and two that do after all
// do no harm.
type Reconciler struct {
	Config
	records records
	gitHub  gitHub
	jitter  func() float64 // in [0, 1)
	limit   time.Duration  // of one attempt
	every   time.Duration  // all purchases are read
	metrics *metrics
	strikes int // problems in a row that concern every invitation
}

// New returns a reconciler.
func New(config Config) *Reconciler {
	r := &Reconciler{Config: config, records: records{config.Store}, jitter: rand.Float64, limit: attemptTime, every: scanEvery, metrics: newMetrics(config.Registerer, config.PerDay)}
	if config.GitHub != nil {
		r.gitHub = config.GitHub
	}
	return r
}

const (
	// attemptTime bounds one attempt, all its calls together. GitHub itself gives
	// up a request after 10 seconds.
	attemptTime = 12 * time.Second
	// attemptOver is when others may take an attempt to be over that has no
	// answer. The difference is for clocks that do not agree.
	attemptOver = 20 * time.Second
	// recordTime bounds the record of an answer when the process is told to stop.
	recordTime = 3 * time.Second
)

// scan records what the purchases of these users ask for; nil: of all.
func (r *Reconciler) scan(ctx context.Context, users []string) error {
	return r.records.scan(ctx, r.Repository, users, r.Now())
}

// next makes one attempt: reserve, look, ask, record. It says whether there was
// anything to do.
func (r *Reconciler) next(ctx context.Context) (worked bool, err error) {
	if r.gitHub == nil {
		return false, nil
	}
	attempt, err := r.records.reserve(ctx, r.Repository, r.Now(), r.PerDay, attemptOver)
	if err != nil || attempt == nil {
		return false, err
	}
	calls, cancel := context.WithTimeout(ctx, r.limit)
	began := time.Now()
	result := r.perform(calls, attempt)
	r.metrics.duration.Observe(time.Since(began).Seconds())
	cancel()
	if ctx.Err() != nil && result.pause != nil { // it was we who hung up
		result.pause = nil
		result.answer.Next = attempt.Invitation
	}
	ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), recordTime)
	defer cancel()
	if result.pause != nil {
		if err := r.records.pause(ctx, *result.pause); err != nil {
			return true, err
		}
	}
	err = r.records.record(ctx, attempt, result.answer, r.Now())
	if errors.Is(err, ErrAttemptOver) {
		r.Logger.WarnContext(ctx, "an invitation's answer came too late and is looked up again", "user_id", attempt.UserID)
		return true, nil
	}
	if err != nil {
		return true, err
	}
	r.observe(ctx, attempt, result)
	return true, nil
}

// result is what an attempt has led to.
type result struct {
	answer Answer
	pause  *Pause // nil: the others go on
}

// perform asks GitHub what the attempt is for.
func (r *Reconciler) perform(ctx context.Context, attempt *Attempt) result {
	if !githubName.MatchString(*attempt.GitHubUser) { // so GitHub has never heard of it
		status := Failed
		if attempt.Purpose == AttemptWithdraw {
			status = Withdrawn
		}
		return r.settled(attempt, status, "not the name of a GitHub user")
	}
	known, err := r.gitHub.Look(ctx, *attempt.GitHubUser)
	if err != nil {
		return r.troubled(attempt, whole(err), OutcomeNotSent)
	}
	var done result
	switch attempt.Purpose {
	case AttemptInvite:
		done = r.invite(ctx, attempt, known)
	case AttemptWithdraw:
		done = r.withdraw(ctx, attempt, known)
	default:
		done = r.watch(attempt, known)
	}
	if done.pause == nil {
		r.strikes = 0
	}
	done.answer.Absent = !known.collaborator && known.pending == nil
	return done
}

// whole: a refusal that does not depend on the user is one of everything.
func whole(err error) *problem {
	trouble := asProblem(err)
	if trouble.kind == refused {
		return &problem{kind: denied, words: trouble.words + "; is the repository right, and do the credentials reach it?"}
	}
	return trouble
}

func asProblem(err error) *problem {
	var trouble *problem
	if errors.As(err, &trouble) {
		return trouble
	}
	return &problem{kind: unclear, words: err.Error()}
}
