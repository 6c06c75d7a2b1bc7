package invitations

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"path"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/schedule"
)

// shop is purchases, GitHub, and the inviters of several processes, which a scheduler lets take their steps.
type shop struct {
	*schedule.Scheduler
	t      *testing.T
	tables *model
	under  *transaction // that has the lock of the repository; nil: none
	github *testenv.GitHub
	perDay int
	remove bool

	ahead    time.Duration // of the provider's clock
	payments int
	leaders  []*leadership
	late     []lateRequest
	mu       sync.Mutex // for late
	names    map[string]*ofName
	sentAt   []time.Time // when GitHub made the invitations of payfold
	declined int
}

type leadership struct {
	of      *schedule.Process
	changed chan []string
	end     context.CancelCauseFunc
}

// lateRequest is a request that GitHub has got and may act on before until. Nobody reads the answer.
type lateRequest struct {
	by      int
	request *http.Request
	until   time.Time
}

// ofName is what happened to a GitHub user.
type ofName struct {
	reasons int // purchases and retries: each may cause one invitation, and one more if that expires
	refunds int
	made    int                       // invitations that payfold made
	ended   int                       // invitations and access that payfold ended
	expired int                       // invitations that payfold made when the one before was as old as an expired one
	late    int                       // invitations that came from requests with a lost answer
	unseen  int                       // invitations that were declined or expired before payfold knew that they were made
	last    *testenv.GitHubInvitation // that payfold made
	left    bool                      // the user declined, or did not answer
	failed  bool                      // GitHub refused an invitation for good
	byHand  int64                     // id of somebody else's invitation, older than all purchases; 0: none
}

const (
	shopNames = 3
	// maxSkew is a bit less than half of what attemptExpiry is longer than an attempt can be.
	maxSkew = 3500 * time.Millisecond
	// maxLate is how long after a lost answer GitHub acts at the latest. It is less than lateAction, because an attempt of a
	// dead process expires later on its own clock.
	maxLate = 20 * time.Second
)

func newShop(t *testing.T, s *schedule.Scheduler) *shop {
	w := &shop{
		Scheduler: s, t: t, tables: newModel(), github: testenv.NewGitHubInMemory(time.Now),
		perDay: 1 + s.Random.IntN(4), remove: s.Coin(0.5), ahead: time.Duration(s.Random.IntN(480)-240) * time.Second,
		names: map[string]*ofName{},
	}
	for i := range shopNames {
		w.names[nameOf(i)] = &ofName{}
	}
	if s.Coin(0.2) {
		w.github.InviteByHand(nameOf(0))
		w.names[nameOf(0)].byHand = w.github.Invitation(nameOf(0)).ID
		time.Sleep(clockSkew + 5*time.Minute)
	}
	return w
}

func nameOf(i int) string { return fmt.Sprint("octo", i) }

// start starts the inviter of a new process.
func (w *shop) start() {
	w.Start(func(p *schedule.Process) []func(context.Context) {
		jitter := rand.New(rand.NewPCG(uint64(p.Name), 1))
		ahead := time.Duration(w.Random.Int64N(int64(2*maxSkew))) - maxSkew
		now := func() time.Time { return time.Now().Add(ahead).Truncate(time.Microsecond) }
		r := New(Config{
			Repository: testenv.GitHubRepository, PerDay: w.perDay, RemoveOnRevoke: w.remove, Now: now,
			GitHub: NewGitHub(w.github.Address(), Token(testenv.GitHubToken), testenv.GitHubRepository, "pull", now),
			Logger: slog.New(slog.DiscardHandler),
		})
		r.GitHub.http.Transport = wire{w, p}
		r.records, r.jitter = modelRecords{w, p, testenv.GitHubRepository, now}, jitter.Float64
		return []func(context.Context){func(ctx context.Context) { _ = r.Run(ctx) }}
	})
}

// modelRecords is records on the model. A method is one step where it reads the purchases once, because nothing else
// that another process does between two of its statements changes what they do.
type modelRecords struct {
	*shop
	by         *schedule.Process
	repository string
	now        func() time.Time
}

var errSessionEnded = errors.New("the database has ended the session")

// lead makes every process a leader, because two leaders must do no harm.
func (r modelRecords) lead(ctx context.Context, _ string, work func(context.Context, <-chan []string) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	as := &leadership{of: r.by, changed: make(chan []string, 100), end: cancel}
	err := r.by.Take(ctx, "lead", func(goesWrong schedule.Fault) error {
		if goesWrong != schedule.None {
			return schedule.ErrRefused
		}
		r.leaders = append(r.leaders, as)
		return nil
	})
	if err != nil {
		return err
	}
	if err := work(ctx, as.changed); err != nil {
		return err
	}
	return context.Cause(ctx)
}

// transaction has the lock of the repository until it ends.
type transaction struct {
	by    *schedule.Process
	ended atomic.Bool
}

// isFree reports whether no transaction has the lock of the repository. The database ends those of dead processes.
func (w *shop) isFree() bool {
	return w.under == nil || w.under.ended.Load() || w.under.by.Killed()
}

// transaction executes statements one after the other in one transaction with the lock of the repository.
func (r modelRecords) transaction(ctx context.Context, name string, statements ...func(tx *model) error) error {
	own := &transaction{by: r.by}
	defer own.ended.Store(true)
	var tx *model
	for i, statement := range statements {
		ready := r.isFree
		if i > 0 {
			ready = nil
		}
		err := r.by.TakeWhen(ctx, fmt.Sprint(name, " ", i), ready, func(goesWrong schedule.Fault) error {
			if i == 0 {
				r.under, tx = own, r.tables
				if len(statements) > 1 { // they can be rolled back
					tx = r.tables.clone()
				}
			}
			last := i == len(statements)-1
			if goesWrong == schedule.Refused || goesWrong == schedule.Lost && !last {
				return schedule.ErrRefused
			}
			err := statement(tx)
			if !last {
				return err
			}
			*r.tables = *tx
			own.ended.Store(true)
			if goesWrong == schedule.Lost {
				return schedule.ErrLost
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (r modelRecords) resume(ctx context.Context) error {
	return r.transaction(ctx, "resume", func(tx *model) error {
		tx.resume(r.repository, r.now())
		return nil
	})
}

func (r modelRecords) scan(ctx context.Context, users []string) error {
	var statements []func(*model) error
	now := r.now()
	for i := range (&model{}).scanSteps(r.repository, now, users) {
		statements = append(statements, func(tx *model) error {
			tx.scanSteps(r.repository, now, users)[i]()
			return nil
		})
	}
	return r.transaction(ctx, "scan", statements...)
}

func (r modelRecords) reserve(ctx context.Context, perDay int) (reserved *Attempt, err error) {
	err = r.transaction(ctx, "reserve", func(tx *model) error {
		now := r.now()
		if tx.paused(r.repository, now) {
			return nil
		}
		tx.endAttempts(r.repository, now)
		if choices := tx.choices(r.repository, now, perDay); len(choices) > 0 {
			reserved = tx.reserveChoice(choices[r.Random.IntN(len(choices))], now)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return reserved, nil
}

func (r modelRecords) asking(ctx context.Context, attempt *Attempt) error {
	return r.transaction(ctx, "asking", func(tx *model) error { return tx.asking(attempt) })
}

func (r modelRecords) record(ctx context.Context, attempt *Attempt, answer Answer) error {
	return r.transaction(ctx, fmt.Sprint("record ", answer.Next.Status, " ", answer.Outcome, " ", answer.Message), func(tx *model) error {
		return tx.record(attempt, answer, r.now())
	})
}

func (r modelRecords) pause(ctx context.Context, pause Pause) error {
	return r.transaction(ctx, "pause", func(tx *model) error {
		tx.pause(pause)
		return nil
	})
}

func (r modelRecords) figures(context.Context) (figures, error) { return figures{}, nil }

// wire brings the requests of a process to GitHub.
type wire struct {
	*shop
	by *schedule.Process
}

var errConnection = errors.New("the connection was lost")

func (w wire) RoundTrip(r *http.Request) (answer *http.Response, err error) {
	arrived := false
	err = w.by.Take(r.Context(), "GitHub "+r.Method+" "+r.URL.Path, func(goesWrong schedule.Fault) (err error) {
		arrived = true
		answer, err = w.answer(w.by, r, goesWrong)
		return err
	})
	if !arrived { // it is under way
		w.actsLate(w.by, r)
	}
	if err == nil && r.Method != http.MethodGet {
		err = w.by.Take(r.Context(), "answer of GitHub", func(goesWrong schedule.Fault) error {
			if goesWrong != schedule.None {
				return errConnection
			}
			return nil
		})
	}
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// answer is what a request gets.
func (w *shop) answer(by *schedule.Process, r *http.Request, goesWrong schedule.Fault) (*http.Response, error) {
	switch goesWrong {
	case schedule.Refused:
		if r.Method == http.MethodPut && w.Coin(0.3) { // for good
			w.names[path.Base(r.URL.Path)].failed = true
			w.github.Script("", testenv.Reply{Status: []int{http.StatusNotFound, http.StatusUnprocessableEntity}[w.Random.IntN(2)]})
			return w.github.RoundTrip(r)
		}
		refusals := []testenv.Reply{
			{Status: 500},
			{Status: 429},
			{Status: 429, Header: map[string]string{"Retry-After": "7"}},
			{Status: 401},
			{Status: 403},
			{Status: 403, Header: map[string]string{"Retry-After": "5"}},
		}
		if n := w.Random.IntN(len(refusals) + 1); n < len(refusals) {
			w.github.Script("", refusals[n])
			return w.github.RoundTrip(r)
		}
		return nil, errConnection
	case schedule.Lost:
		switch w.Random.IntN(4) {
		case 0:
			w.actsLate(by, r)
		case 1: // a proxy repeats it
			w.actsLate(by, r)
			w.act(r, false)
		case 2:
			w.act(r, false)
			w.github.Script("", testenv.Reply{Status: 502})
			return w.github.RoundTrip(r)
		default:
			w.act(r, false)
		}
		return nil, errConnection
	}
	return w.act(r, false), nil
}

// actsLate notes that GitHub may act on a request later.
func (w *shop) actsLate(by *schedule.Process, r *http.Request) {
	if r.Method == http.MethodGet {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.late = append(w.late, lateRequest{by.Name, again(r), time.Now().Add(maxLate)})
}

func again(r *http.Request) *http.Request {
	same := r.Clone(context.Background())
	if r.GetBody != nil {
		same.Body, _ = r.GetBody()
	}
	return same
}

// act lets GitHub do what a request asks, and counts what that changes.
func (w *shop) act(r *http.Request, late bool) *http.Response {
	type state struct {
		invited, access bool
		sent            int
	}
	look := func() map[string]state {
		all := map[string]state{}
		for name := range w.names {
			now := state{access: w.github.HasAccess(name), sent: w.github.Sent(name)}
			if one := w.github.Invitation(name); one != nil {
				now.invited = time.Since(one.CreatedAt) < expiresAfter
			}
			all[name] = now
		}
		return all
	}
	before := look()
	answer, err := w.github.RoundTrip(again(r))
	require.NoError(w.t, err)
	for name, now := range look() {
		of, was := w.names[name], before[name]
		if now.sent > was.sent {
			if last := of.last; last != nil && time.Since(last.CreatedAt) > expiresAfter-2*maxSkew {
				of.expired++
				if !w.isRecorded(last.ID) {
					of.unseen++
				}
			}
			of.last = w.github.Invitation(name)
			of.made++
			w.sentAt = append(w.sentAt, time.Now())
			if late {
				of.late++
			}
		}
		if r.Method == http.MethodDelete && (was.invited && !now.invited || was.access && !now.access) {
			of.ended++
		}
	}
	return answer
}

// letLateRequestsArrive lets GitHub act on some of the requests, or on all that must have arrived by a time. Some never do.
func (w *shop) letLateRequestsArrive(by time.Time) {
	w.Do(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		slices.SortFunc(w.late, func(a, b lateRequest) int { return 10*(a.by-b.by) + a.until.Compare(b.until) })
		w.late = slices.DeleteFunc(w.late, func(one lateRequest) bool {
			if one.until.After(by) && !w.Coin(0.3) {
				return false
			}
			if w.Coin(0.8) {
				w.Note("late: %s %s", one.request.Method, one.request.URL.Path)
				w.act(one.request, true)
			}
			return true
		})
	})
}

// sleep lets time pass.
func (w *shop) sleep(d time.Duration) {
	w.letLateRequestsArrive(time.Now().Add(d))
	w.Sleep(d)
}

// tell notifies the leaders that the purchases of a user have changed. Some notifications are lost.
func (w *shop) tell(user string) {
	for _, leader := range w.leaders {
		if w.Coin(0.8) {
			select {
			case leader.changed <- []string{user}:
			default:
			}
		}
	}
}

// change changes the payments or what GitHub has.
func (w *shop) change() {
	all := w.tables.sortedPayments()
	if len(all) == 0 || w.Coin(0.25) {
		w.buy()
		return
	}
	p := all[w.Random.IntN(len(all))]
	name := nameOf(w.Random.IntN(shopNames))
	switch what := w.Random.IntN(10); {
	case what < 3 && p.EndedAt == nil:
		w.Note("refund %s of %s for %s", p.ID, p.User, p.GitHubUser)
		w.refund(p)
	case what == 3 && p.EndedAt != nil: // it is kept after all
		w.Note("keep %s of %s for %s", p.ID, p.User, p.GitHubUser)
		w.because(p.GitHubUser)
		p.EndedAt = nil
		w.tell(p.User)
	case what == 4 && p.GitHubUser == "":
		w.Note("name %s of %s: %s", p.ID, p.User, name)
		p.GitHubUser = name
		w.because(name)
		w.tell(p.User)
	case what == 5: // the payment gets another id
		delete(w.tables.payments, p.ID)
		w.payments++
		p.Order, p.ID = p.ID, fmt.Sprint("pay", w.payments)
		w.tables.payments[p.ID] = p
		w.Note("%s of %s is %s", p.Order, p.User, p.ID)
		w.tell(p.User)
	case what < 8:
		if one := w.github.Invitation(name); one != nil && time.Since(one.CreatedAt) < expiresAfter {
			w.Note("%s accepts", name)
			w.github.Accept(w.t, name)
		}
	case what == 8:
		if one := w.github.Invitation(name); one != nil && time.Since(one.CreatedAt) < expiresAfter {
			w.Note("%s declines", name)
			w.github.Decline(w.t, name)
			w.names[name].left = true
			if !w.isRecorded(one.ID) {
				w.names[name].unseen++
			}
			w.declined++
		}
	case what == 9 && w.isFree():
		w.Note("retry %s", p.User)
		for _, one := range all {
			if one.User == p.User {
				w.because(one.GitHubUser)
			}
		}
		w.tables.retry(p.User, time.Now())
	}
}

// isRecorded reports whether payfold knows an invitation.
func (w *shop) isRecorded(id int64) bool {
	return slices.ContainsFunc(w.tables.sorted(), func(i *modelInvitation) bool { return i.InvitationID != nil && *i.InvitationID == id })
}

func (w *shop) because(name string) {
	if of := w.names[name]; of != nil {
		of.reasons++
	}
}

func (w *shop) buy() {
	w.payments++
	p := &modelPayment{ID: fmt.Sprint("pay", w.payments), User: fmt.Sprint("u", w.Random.IntN(3)), Kind: "pro", OccurredAt: time.Now().Add(w.ahead)}
	if w.Coin(0.9) {
		p.GitHubUser = nameOf(w.Random.IntN(shopNames))
	}
	w.Note("buy %s of %s for %s", p.ID, p.User, p.GitHubUser)
	w.because(p.GitHubUser)
	w.tables.payments[p.ID] = p
	w.tell(p.User)
}

func (w *shop) refund(p *modelPayment) {
	now := time.Now()
	p.EndedAt = &now
	if of := w.names[p.GitHubUser]; of != nil {
		of.refunds++
	}
	w.tell(p.User)
}

// disturb kills, freezes or starts a process, lets time pass, or changes something.
func (w *shop) disturb() {
	alive := w.Alive()
	switch what := w.Random.IntN(40); {
	case what < 25:
		w.Do(w.change)
	case what < 30:
		w.sleep(time.Duration(w.Random.IntN(30)) * time.Second)
	case what < 33:
		w.Kill(alive[w.Random.IntN(len(alive))])
		w.start()
	case what < 35:
		w.Stop(alive[w.Random.IntN(len(alive))])
		w.start()
	case what < 37:
		w.Freeze(alive[w.Random.IntN(len(alive))], time.Duration(w.Random.IntN(40))*time.Second)
	case what < 39:
		if len(w.leaders) > 0 {
			w.leaders[w.Random.IntN(len(w.leaders))].end(errSessionEnded)
		}
	default:
		w.rest(time.Duration(1+w.Random.IntN(9*24))*time.Hour, 2)
	}
}

// rest ends all processes and starts others after some time.
func (w *shop) rest(d time.Duration, others int) {
	w.KillAll()
	w.leaders = nil
	w.Note("rest for %s", d)
	w.sleep(d)
	for range others {
		w.start()
	}
}

func (w *shop) run(steps int) {
	for range steps {
		switch {
		case w.Coin(0.07):
			w.disturb()
		case !w.Step():
			w.sleep(200 * time.Millisecond)
		}
	}
}

// finish lets everything go well for some days.
func (w *shop) finish() {
	w.Calm = true
	w.KillAll()
	w.letLateRequestsArrive(time.Now().Add(maxLate))
	for range 6 { // enough days for the quota, each longer than any pause
		w.rest(24*time.Hour+time.Minute, 1)
		for quiet := 0; quiet < 15; {
			if !w.Step() {
				quiet++
				w.sleep(200 * time.Millisecond)
			}
		}
	}
	w.KillAll()
}

// require checks what GitHub and the tables have in the end.
func (w *shop) require() {
	t := w.t
	named := map[string]bool{} // GitHub users of kept purchases
	for _, p := range w.tables.sortedPayments() {
		i := w.tables.invitations[Key{p.User, testenv.GitHubRepository, p.ID}]
		if p.EndedAt != nil {
			require.True(t, i == nil || i.Status == Withdrawn, "%s was refunded, and is %+v", p.ID, i)
			continue
		}
		require.NotNil(t, i, "%s has no invitation", p.ID)
		if i.GitHubUser == nil {
			require.Equal(t, "", p.GitHubUser)
			require.Equal(t, Pending, i.Status)
			continue
		}
		name := *i.GitHubUser
		named[name] = true
		require.Equal(t, p.GitHubUser, name)
		switch i.Status {
		case Invited, Collaborator:
			require.True(t, w.github.HasAccess(name) || w.github.Invitation(name) != nil, "%s is %s, and %s has nothing", p.ID, i.Status, name)
		case Declined:
			require.True(t, w.names[name].left, "%s did not decline", name)
		case Failed:
			require.True(t, w.names[name].failed, "%s failed: %s", p.ID, deref(i.Reason))
		case Expired:
		case Pending: // another invitation has ended in the last days, and this one waits for the quota of the next day
			require.GreaterOrEqual(t, w.tables.quotaUsed(i.Repository, time.Now()), w.perDay, "%s waits: %s", p.ID, deref(i.Reason))
		default:
			require.Fail(t, "not done", "%s is %s: %s", p.ID, i.Status, deref(i.Reason))
		}
	}
	ended := 0
	for name, of := range w.names {
		ended += of.ended
		pending := w.github.Invitation(name)
		if !named[name] && (pending == nil || pending.ID != of.byHand) {
			require.True(t, pending == nil || time.Since(pending.CreatedAt) >= expiresAfter, "%s is invited without a purchase", name)
			require.False(t, w.remove && w.github.HasAccess(name) && of.byHand == 0, "%s has access without a purchase", name)
		}
		require.LessOrEqual(t, of.ended, of.refunds+of.late, "%s: only a refund takes something back", name)
		require.LessOrEqual(t, of.made, of.reasons+of.ended+of.late+of.unseen+min(of.expired, of.reasons), "%s was invited too often: %+v", name, of)
	}
	slices.SortFunc(w.sentAt, time.Time.Compare)
	for i, at := range w.sentAt {
		n := 0
		for _, other := range w.sentAt[i:] {
			if other.Sub(at) < 24*time.Hour-2*time.Minute {
				n++
			}
		}
		// What ended before payfold recorded that it was sent does not count.
		require.LessOrEqual(t, n, w.perDay+w.declined+ended, "the quota of a day")
	}
}

func scheduleOfInviters(t *testing.T, s *schedule.Scheduler) {
	w := newShop(t, s)
	w.buy()
	w.start()
	w.start()
	w.run(150 + s.Random.IntN(350))
	w.finish()
	for _, i := range w.tables.sorted() {
		w.Note("%s of %s for %s is %s, revoked %t: %s", i.PaymentID, i.UserID, deref(i.GitHubUser), i.Status, i.Revoked, deref(i.Reason))
	}
	for _, p := range w.tables.sortedPayments() {
		w.Note("%s of %s for %s, order %s, ended %v", p.ID, p.User, p.GitHubUser, p.Order, p.EndedAt)
	}
	w.require()
}

// A schedule ends with one invitation or membership for each kept purchase, and none for others.
func TestNoScheduleOfInvitersInvitesTwiceOrForgets(t *testing.T) {
	t.Parallel()
	schedule.Run(t, 100, scheduleOfInviters)
}
