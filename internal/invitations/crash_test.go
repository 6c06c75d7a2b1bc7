package invitations

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv"
)

// dying is a GitHub whose caller dies before or after one of its calls: the
// process's database is gone from then on, so it can record nothing.
type dying struct {
	gitHub
	calls int // until it dies: 2n is before the nth call, 2n+1 after it
	kill  func()
}

var errKilled = errors.New("killed")

func (d *dying) step(do func() error) error {
	for _, late := range []bool{false, true} {
		if d.calls--; d.calls < 0 {
			d.kill()
			return errKilled
		}
		if !late {
			if err := do(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *dying) Look(ctx context.Context, user string) (known standing, err error) {
	err = d.step(func() (err error) { known, err = d.gitHub.Look(ctx, user); return err })
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

// runAndDie is a process that works until it has nothing to do, or dies after
// that many steps at GitHub. It says whether it came to the end.
func (w *world) runAndDie(t testing.TB, steps int) (finished bool) {
	if w.own == nil {
		w.own = w.open(t)
	}
	r := w.on(t, w.own)
	r.gitHub = &dying{gitHub: r.gitHub, calls: steps, kill: w.stop}
	if r.scan(t.Context(), nil) != nil {
		return false
	}
	for {
		worked, err := r.next(t.Context())
		if err != nil {
			return false
		}
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
			defer w.stop()
			finished := w.runAndDie(t, steps)
			require.Equal(t, steps == 8, finished, "two invitations are four calls")
			r := w.inviter(t)
			reconcile(t, r) // the reservation of the dead one stands for a while
			w.clock.Advance(attemptOver)
			reconcile(t, r)
			for _, name := range []string{"octo", "hubot"} {
				require.Equal(t, 1, w.github.Sent(name))
				require.Zero(t, w.github.Repeated(name))
			}
			w.requireStatus(t, "u1", "pay1", store.InvitationInvited)
			w.requireStatus(t, "u2", "pay2", store.InvitationInvited)

			w.refund(t, "u1")
			w.runAndDie(t, steps%5)
			w.clock.Advance(attemptOver)
			reconcile(t, r)
			w.requireStatus(t, "u1", "pay1", store.InvitationWithdrawn)
			require.Nil(t, w.github.Invitation("octo"))
		})
	}
}

func TestAnAnswerThatComesTooLateIsNotRecorded(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.buy(t, "u1", "pay1", "octo")
	r := w.inviter(t)
	require.NoError(t, r.scan(t.Context(), nil))
	late, err := r.Store.ReserveAttempt(t.Context(), r.Repository, w.clock.Now(), r.PerDay, attemptOver)
	require.NoError(t, err)
	none, err := r.Store.ReserveAttempt(t.Context(), r.Repository, w.clock.Now(), r.PerDay, attemptOver)
	require.NoError(t, err)
	require.Nil(t, none, "one at a time")
	w.clock.Advance(attemptOver)
	reconcile(t, w.inviter(t))
	answer := store.Answer{Outcome: store.OutcomeNotSent, Next: late.Invitation}
	require.ErrorIs(t, r.Store.RecordAnswer(t.Context(), late, answer, w.clock.Now()), store.ErrAttemptOver)
	w.requireStatus(t, "u1", "pay1", store.InvitationInvited)
}

func TestToldToStopItHangsUpAndTheNextOneFindsOut(t *testing.T) {
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
	require.Zero(t, one.Faults, "it was not GitHub's fault")
	reconcile(t, w.inviter(t)) // at once: the attempt was ended
	w.requireStatus(t, "u1", "pay1", store.InvitationInvited)
	require.Equal(t, 1, w.github.Sent("octo"))
	require.Zero(t, w.github.Repeated("octo"))
}

// meanwhile is a GitHub during whose invitations something else happens.
type meanwhile struct {
	gitHub
	happens func()
}

func (m meanwhile) Invite(ctx context.Context, user string) (*invitation, error) {
	made, err := m.gitHub.Invite(ctx, user)
	m.happens()
	return made, err
}

func TestALicenceRevokedWhileGitHubAnswersIsWithdrawnAtOnce(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.buy(t, "u1", "pay1", "octo")
	r, other := w.inviter(t), w.inviter(t)
	r.gitHub = meanwhile{r.gitHub, func() {
		w.refund(t, "u1")
		reconcile(t, other)
		require.NotNil(t, w.github.Invitation("octo"), "nobody else asks about the same GitHub user")
	}}
	reconcile(t, r)
	w.requireStatus(t, "u1", "pay1", store.InvitationWithdrawn)
	require.Nil(t, w.github.Invitation("octo"))
}

func TestBoughtAgainWhileTheWithdrawalIsUnderWay(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.buy(t, "u1", "pay1", "octo")
	r, other := w.inviter(t), w.inviter(t)
	reconcile(t, r)
	w.refund(t, "u1")
	r.gitHub = cancelling{r.gitHub, func() {
		w.buy(t, "u1", "pay2", "octo")
		reconcile(t, other)
	}}
	reconcile(t, r)
	w.requireStatus(t, "u1", "pay1", store.InvitationWithdrawn)
	w.requireStatus(t, "u1", "pay2", store.InvitationInvited)
	require.NotNil(t, w.github.Invitation("octo"), "not one that is about to be cancelled")
}

// cancelling is a GitHub before whose cancellations something else happens.
type cancelling struct {
	gitHub
	happens func()
}

func (c cancelling) Cancel(ctx context.Context, id int64) error {
	c.happens()
	return c.gitHub.Cancel(ctx, id)
}

// replies are what GitHub may answer to an invitation; those that refuse for
// good are left out, for nothing is lost in them.
var replies = []testenv.Reply{
	{},
	{Drops: true},
	{Drops: true, Acts: true},
	{Status: 500},
	{Status: 502, Acts: true},
	{Status: 429},
	{Status: 403, Header: map[string]string{"Retry-After": "5"}},
	{Status: 401},
	{Status: 403},
}

func TestWhateverHappensEveryLicenceIsInvitedOnceAndNoneIsLost(t *testing.T) {
	t.Parallel()
	base := setup(t)
	defer base.stop()
	rapid.Check(t, func(rt *rapid.T) {
		base.exec(rt, "truncate portal.pro_license, payfold.invitation, payfold.invitation_attempt, payfold.invitation_pause")
		base.clock.Advance(365 * 24 * time.Hour)
		w := &world{dsn: base.dsn, db: base.db, clock: base.clock, own: base.own, github: testenv.NewGitHub(t, base.clock.Now)}
		w.perDay = rapid.IntRange(2, 5).Draw(rt, "per day")
		users := rapid.IntRange(1, 6).Draw(rt, "users")
		for i := range users {
			w.buy(rt, fmt.Sprint("u", i), fmt.Sprint("pay", i), fmt.Sprint("octo", i))
			for range rapid.IntRange(0, 3).Draw(rt, "answers") {
				w.github.Script(fmt.Sprint("octo", i), rapid.SampledFrom(replies).Draw(rt, "answer"))
			}
		}
		defer func() { base.own = w.own }()
		refunded := map[int]bool{}
		for range rapid.IntRange(1, 8).Draw(rt, "rounds") {
			switch rapid.IntRange(0, 5).Draw(rt, "what") {
			case 0:
				w.github.Script("", rapid.SampledFrom(replies).Draw(rt, "to anything"))
			case 1:
				i := rapid.IntRange(0, users-1).Draw(rt, "who")
				w.refund(rt, fmt.Sprint("u", i))
				refunded[i] = true
			}
			w.runAndDie(t, rapid.IntRange(0, 20).Draw(rt, "steps"))
			w.clock.Advance(time.Duration(rapid.IntRange(0, 100).Draw(rt, "seconds")) * time.Second)
			w.requireQuota(rt)
		}
		w.github.Forget()
		for range 4 { // at most three days' quota, and an hour's pause
			w.clock.Advance(24*time.Hour + time.Minute)
			require.True(rt, w.runAndDie(t, 1000))
			w.requireQuota(rt)
		}
		for i := range users {
			name := fmt.Sprint("octo", i)
			require.LessOrEqual(rt, w.github.Sent(name), 1)
			require.Zero(rt, w.github.Repeated(name))
			if refunded[i] {
				require.Nil(rt, w.github.Invitation(name))
			} else {
				require.Equal(rt, 1, w.github.Sent(name))
			}
		}
	})
}

// requireQuota: GitHub has made no more invitations in any 24 hours than allowed.
func (w *world) requireQuota(t require.TestingT) {
	var sent []time.Time
	for i := range 10 {
		if one := w.github.Invitation(fmt.Sprint("octo", i)); one != nil {
			sent = append(sent, one.CreatedAt)
		}
	}
	for _, first := range sent {
		n := 0
		for _, at := range sent {
			if !at.Before(first) && at.Before(first.Add(24*time.Hour)) {
				n++
			}
		}
		require.LessOrEqual(t, n, w.perDay)
	}
}
