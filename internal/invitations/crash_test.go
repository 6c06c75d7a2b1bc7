package invitations

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv"
)

// dying panics before or after one of the calls to GitHub, as if the process was killed
// there.
type dying struct {
	gitHub
	steps int // until the panic; each call has a step before and one after it
}

var errKilled = errors.New("killed")

func (d *dying) step(do func() error) error {
	for _, late := range []bool{false, true} {
		if d.steps--; d.steps < 0 {
			panic(errKilled)
		}
		if !late {
			if err := do(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *dying) Look(ctx context.Context, user string, recorded *int64) (known access, err error) {
	err = d.step(func() (err error) { known, err = d.gitHub.Look(ctx, user, recorded); return err })
	return known, err
}

func (d *dying) Invite(ctx context.Context, user string) (made *invitation, err error) {
	err = d.step(func() (err error) { made, err = d.gitHub.Invite(ctx, user); return err })
	return made, err
}

func (d *dying) Cancel(ctx context.Context, id int64) error {
	return d.step(func() error { return d.gitHub.Cancel(ctx, id) })
}

func (d *dying) Remove(ctx context.Context, user string) error {
	return d.step(func() error { return d.gitHub.Remove(ctx, user) })
}

// runAndDie runs a process until nothing is due, or until it dies after that many steps.
// It returns true where nothing was left.
func (w *world) runAndDie(t require.TestingT, log testing.TB, steps int) (finished bool) {
	defer func() {
		if cause := recover(); cause != nil && cause != any(errKilled) {
			panic(cause)
		}
	}()
	r := w.on(log, w.tables)
	r.gitHub = &dying{gitHub: r.gitHub, steps: steps}
	require.NoError(t, r.records.scan(context.Background(), nil))
	for {
		worked, err := r.next(context.Background())
		require.NoError(t, err)
		if !worked {
			return true
		}
	}
}

func TestAProcessThatDiesAtAnyStepInvitesNobodyTwiceAndLosesNobody(t *testing.T) {
	t.Parallel()
	for steps := range 9 {
		t.Run(fmt.Sprint(steps), func(t *testing.T) {
			t.Parallel()
			w := setup(t)
			w.buy(t, "u1", "pay1", "octo")
			w.buy(t, "u2", "pay2", "hubot")
			finished := w.runAndDie(t, t, steps)
			require.Equal(t, steps == 8, finished, "two invitations are four calls")
			r := w.inviter(t)
			reconcile(t, r) // the dead process's attempt has not expired yet
			w.outlive(t, r)
			for _, name := range []string{"octo", "hubot"} {
				require.Equal(t, 1, w.github.Sent(name))
				require.Zero(t, w.github.Repeated(name))
			}
			w.requireStatus(t, "u1", "pay1", Invited)
			w.requireStatus(t, "u2", "pay2", Invited)

			w.refund(t, "pay1")
			w.runAndDie(t, t, steps%5)
			w.outlive(t, r)
			w.requireStatus(t, "u1", "pay1", Withdrawn)
			require.Nil(t, w.github.Invitation("octo"))
		})
	}
}

func TestAnAnswerThatComesTooLateIsNotRecorded(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.buy(t, "u1", "pay1", "octo")
	r := w.inviter(t)
	require.NoError(t, r.records.scan(t.Context(), nil))
	late, err := r.records.reserve(t.Context(), r.PerDay)
	require.NoError(t, err)
	none, err := r.records.reserve(t.Context(), r.PerDay)
	require.NoError(t, err)
	require.Nil(t, none, "one attempt at a time for each GitHub user")
	w.clock.Advance(attemptExpiry)
	reconcile(t, w.inviter(t))
	answer := Answer{Outcome: OutcomeNotSent, Next: late.Invitation}
	require.ErrorIs(t, r.records.record(t.Context(), late, answer), errAttemptExpired)
	w.requireStatus(t, "u1", "pay1", Invited)
}

func TestAStopCancelsTheRequestAndTheNextAttemptFindsTheOutcome(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.buy(t, "u1", "pay1", "octo")
	arrived := make(chan struct{})
	w.github.Script("octo", testenv.Reply{Holds: make(chan struct{}), Arrived: arrived})
	r := w.inviter(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	<-arrived
	stop()
	require.NoError(t, <-ended)
	one := w.invitation(t, "u1", "pay1")
	require.Zero(t, one.ConsecutiveFailures, "GitHub did not fail")
	w.clock.Advance(lateAction)
	reconcile(t, w.inviter(t))
	w.requireStatus(t, "u1", "pay1", Invited)
	require.Equal(t, 1, w.github.Sent("octo"))
	require.Zero(t, w.github.Repeated("octo"))
}

// afterInvite calls a function after each invitation, before its answer is recorded.
type afterInvite struct {
	gitHub
	call func()
}

func (a afterInvite) Invite(ctx context.Context, user string) (*invitation, error) {
	made, err := a.gitHub.Invite(ctx, user)
	a.call()
	return made, err
}

func TestALicenceRevokedWhileGitHubAnswersIsWithdrawnAtOnce(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.buy(t, "u1", "pay1", "octo")
	r, other := w.inviter(t), w.inviter(t)
	r.gitHub = afterInvite{r.gitHub, func() {
		w.refund(t, "pay1")
		reconcile(t, other)
		require.NotNil(t, w.github.Invitation("octo"), "one attempt at a time for each GitHub user")
	}}
	reconcile(t, r)
	w.requireStatus(t, "u1", "pay1", Withdrawn)
	require.Nil(t, w.github.Invitation("octo"))
}

func TestAPurchaseDuringAWithdrawalIsInvitedAfterIt(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.buy(t, "u1", "pay1", "octo")
	r, other := w.inviter(t), w.inviter(t)
	reconcile(t, r)
	w.refund(t, "pay1")
	r.gitHub = beforeCancel{r.gitHub, func() {
		w.buy(t, "u1", "pay2", "octo")
		reconcile(t, other)
	}}
	reconcile(t, r)
	w.requireStatus(t, "u1", "pay1", Withdrawn)
	w.requireStatus(t, "u1", "pay2", Invited)
	require.NotNil(t, w.github.Invitation("octo"), "the cancellation hits the old invitation only")
}

// beforeCancel calls a function before each cancellation.
type beforeCancel struct {
	gitHub
	call func()
}

func (b beforeCancel) Cancel(ctx context.Context, id int64) error {
	b.call()
	return b.gitHub.Cancel(ctx, id)
}
