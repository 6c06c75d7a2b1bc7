package invitations

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv"
)

func TestAnActiveLicenceIsInvitedOnce(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.buy(t, "u1", "pay1", "Octo")
	r := w.inviter(t)
	for range 3 {
		reconcile(t, r)
		w.clock.Advance(time.Hour)
	}
	require.Equal(t, 1, w.github.Sent("octo"))
	require.Len(t, w.github.Requests(http.MethodPut), 1)
	require.Equal(t, "pull", w.github.Requests(http.MethodPut)[0].Permission)
	one := w.invitation(t, "u1", "pay1")
	require.Equal(t, Invited, one.Status)
	require.Equal(t, w.github.Invitation("octo").ID, *one.InvitationID)
}

func TestALicenceWithoutAGitHubUserWaitsForOne(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.buy(t, "u1", "pay1", "")
	r := w.inviter(t)
	reconcile(t, r)
	w.requireStatus(t, "u1", "pay1", Pending)
	require.Empty(t, w.github.Requests(""))
	w.buy(t, "u1", "pay1", "octo")
	reconcile(t, r)
	w.requireStatus(t, "u1", "pay1", Invited)
}

func TestACollaboratorIsNotInvited(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.github.AddCollaborator("octo")
	w.buy(t, "u1", "pay1", "octo")
	reconcile(t, w.inviter(t))
	w.requireStatus(t, "u1", "pay1", Collaborator)
	require.Empty(t, w.github.Requests(http.MethodPut), "a PUT would set a maintainer's permission to pull")
}

func TestA204MeansAccess(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.buy(t, "u1", "pay1", "octo")
	w.github.Script("octo", testenv.Reply{Status: 204})
	reconcile(t, w.inviter(t))
	w.requireStatus(t, "u1", "pay1", Collaborator)
}

func TestAnInvitationThatExistsAtGitHubIsFoundAndRecorded(t *testing.T) {
	t.Parallel()
	w := setup(t)
	var purchases []string
	for i := range 105 { // more than one page
		purchases = append(purchases, w.purchase(fmt.Sprintf("u%03d", i), fmt.Sprintf("pay%03d", i), fmt.Sprintf("octo%03d", i)))
	}
	w.deliver(t, purchases...)
	w.perDay = 200
	reconcile(t, w.inviter(t))
	w.exec(t, "truncate payfold.invitation, payfold.invitation_attempt") // as after restoring an old backup
	w.github.Accept(t, "octo007")
	reconcile(t, w.inviter(t))
	for i := range 105 {
		name := fmt.Sprintf("octo%03d", i)
		require.Equal(t, 1, w.github.Sent(name))
		require.Zero(t, w.github.Repeated(name))
	}
	w.requireStatus(t, "u104", "pay104", Invited)
	w.requireStatus(t, "u007", "pay007", Collaborator)
}

func TestAPermanentFailureIsRecordedWithGitHubsMessageAndNotRepeated(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		reply testenv.Reply
		words string
	}{
		"404":                           {testenv.Reply{Status: 404, Body: `{"message":"Not Found"}`}, "404 Not Found"},
		"422":                           {testenv.Reply{Status: 422, Body: `{"message":"Validation Failed","errors":[{"resource":"Repository","code":"custom","message":"octo is blocked"}]}`}, "422 Validation Failed octo is blocked"},
		"422 with a text for its error": {testenv.Reply{Status: 422, Body: `{"message":"Cannot assign member permission of read","errors":["x"]}`}, "422 Cannot assign member permission of read x"},
		"422 that is no JSON":           {testenv.Reply{Status: 422, Body: `<html>`}, "422"},
		"451":                           {testenv.Reply{Status: 451, Body: `{"message":"blocked"}`}, "451 blocked"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := setup(t)
			w.buy(t, "u1", "pay1", "octo")
			w.github.Script("octo", test.reply)
			r := w.inviter(t)
			reconcile(t, r)
			w.clock.Advance(100 * 24 * time.Hour)
			reconcile(t, w.inviter(t))
			one := w.invitation(t, "u1", "pay1")
			require.Equal(t, Failed, one.Status)
			require.Contains(t, said(one.Reason), test.words)
			require.Len(t, w.github.Requests(http.MethodPut), 1)

			repositories, err := Retry(t.Context(), r.Store, "u1", w.clock.Now())
			require.NoError(t, err)
			require.Equal(t, []string{testenv.GitHubRepository}, repositories)
			reconcile(t, r)
			w.requireStatus(t, "u1", "pay1", Invited)
			repositories, err = Retry(t.Context(), r.Store, "u1", w.clock.Now())
			require.NoError(t, err)
			require.Empty(t, repositories, "an invitation that was sent is not retried")
		})
	}
}

func TestAPermanentFailureDelaysNobodyElse(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.github.RemoveUser("nobody")
	w.buy(t, "u1", "pay1", "nobody")
	w.buy(t, "u2", "pay2", "octo")
	reconcile(t, w.inviter(t))
	w.requireStatus(t, "u1", "pay1", Failed)
	w.requireStatus(t, "u2", "pay2", Invited)
}

func TestRateLimitsPauseAllInvitationsForTheTimeThatGitHubNames(t *testing.T) {
	t.Parallel()
	reset := func(w *world, in time.Duration) string {
		return strconv.FormatInt(w.clock.Now().Add(in).Unix(), 10)
	}
	for name, test := range map[string]struct {
		reply func(w *world) testenv.Reply
		waits time.Duration
	}{
		"429 with Retry-After": {func(*world) testenv.Reply {
			return testenv.Reply{Status: 429, Header: map[string]string{"Retry-After": "90"}, Body: `{"message":"slow down"}`}
		}, 90 * time.Second},
		"429 with a reset": {func(w *world) testenv.Reply {
			return testenv.Reply{Status: 429, Header: map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": reset(w, 20*time.Minute)}}
		}, 20 * time.Minute},
		"429 with a date": {func(w *world) testenv.Reply {
			return testenv.Reply{Status: 429, Header: map[string]string{"Retry-After": w.clock.Now().Add(90 * time.Second).UTC().Format(http.TimeFormat)}}
		}, 90 * time.Second},
		"429 with a reset in the past": {func(w *world) testenv.Reply {
			return testenv.Reply{Status: 429, Header: map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": reset(w, -time.Minute)}}
		}, time.Minute},
		"429 without a time": {func(*world) testenv.Reply { return testenv.Reply{Status: 429} }, time.Minute},
		"403, the primary limit": {func(w *world) testenv.Reply {
			return testenv.Reply{
				Status: 403, Body: `{"message":"API rate limit exceeded"}`,
				Header: map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": reset(w, 59*time.Minute)},
			}
		}, 59 * time.Minute},
		"403, a secondary limit by its link": {func(*world) testenv.Reply {
			return testenv.Reply{
				Status: 403, Header: map[string]string{"Retry-After": "120", "X-RateLimit-Remaining": "4000"},
				Body: `{"message":"You have exceeded a secondary rate limit","documentation_url":"https://docs.github.com/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits"}`,
			}
		}, 2 * time.Minute},
		"403, a secondary limit by its message": {func(w *world) testenv.Reply {
			return testenv.Reply{
				Status: 403, Header: map[string]string{"X-RateLimit-Remaining": "4000", "X-RateLimit-Reset": reset(w, time.Hour)},
				Body: `{"message":"You have exceeded a secondary rate limit. Please wait a few minutes before you try again."}`,
			}
		}, time.Minute},
		"422, a limit by its detail": {func(*world) testenv.Reply {
			return testenv.Reply{Status: 422, Body: `{"message":"Validation Failed","errors":[{"message":"You have exceeded the rate limit for invitations"}]}`}
		}, time.Minute},
		"a reset in the far future": {func(w *world) testenv.Reply {
			return testenv.Reply{Status: 403, Header: map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "99999999999"}}
		}, 24 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := setup(t)
			w.buy(t, "u1", "pay1", "octo")
			w.buy(t, "u2", "pay2", "hubot")
			w.github.Script("octo", test.reply(w))
			r := w.inviter(t)
			r.jitter = func() float64 { return 0 }
			reconcile(t, r)
			asked := len(w.github.Requests(""))
			w.clock.Advance(test.waits - time.Second)
			reconcile(t, w.inviter(t)) // another process waits as well
			require.Len(t, w.github.Requests(""), asked)
			require.Zero(t, w.invitation(t, "u1", "pay1").ConsecutiveFailures, "a limit is not a failure of the invitation")
			now, err := r.records.figures(t.Context())
			require.NoError(t, err)
			require.Zero(t, now.used, "a limit does not use the quota")
			pauses, err := Pauses(t.Context(), r.Store.Pool(), w.clock.Now())
			require.NoError(t, err)
			require.Len(t, pauses, 1)
			require.Equal(t, PauseLimit, pauses[0].Cause)
			require.InDelta(t, 1, testutil.ToFloat64(r.metrics.problems.WithLabelValues(PauseLimit)), 0)

			w.clock.Advance(2 * time.Second)
			reconcile(t, r)
			w.requireStatus(t, "u1", "pay1", Invited)
			w.requireStatus(t, "u2", "pay2", Invited)
		})
	}
}

func TestPausesForLimitsWithoutATimeGrow(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.buy(t, "u1", "pay1", "octo")
	r := w.inviter(t)
	r.jitter = func() float64 { return 0 }
	w.github.Script("octo", testenv.Reply{Status: 429}, testenv.Reply{Status: 429}, testenv.Reply{Status: 429})
	for i, wait := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute} {
		reconcile(t, r)
		require.Len(t, w.github.Requests(http.MethodPut), i+1)
		w.clock.Advance(wait - time.Second)
		reconcile(t, r)
		require.Len(t, w.github.Requests(http.MethodPut), i+1)
		w.clock.Advance(time.Second)
	}
	reconcile(t, r)
	w.requireStatus(t, "u1", "pay1", Invited)
}

func TestDeniedCredentialsPauseAllInvitationsUntilTheyAreRepaired(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]testenv.Reply{
		"401":                         {Status: 401, Body: `{"message":"Bad credentials"}`},
		"403 without a limit":         {Status: 403, Body: `{"message":"Resource not accessible by personal access token"}`, Header: map[string]string{"X-RateLimit-Remaining": "4999"}},
		"404 of the repository":       {Status: 404, Body: `{"message":"Not Found"}`},
		"301 of a renamed repository": {Status: 301, Header: map[string]string{"Location": "https://elsewhere.example/repositories/1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := setup(t)
			w.buy(t, "u1", "pay1", "octo")
			w.buy(t, "u2", "pay2", "hubot")
			w.github.Script("", reply)
			r := w.inviter(t)
			reconcile(t, r)
			require.Len(t, w.github.Requests(""), 1)
			w.requireStatus(t, "u1", "pay1", Pending)
			w.clock.Advance(59 * time.Second)
			reconcile(t, r)
			require.Len(t, w.github.Requests(""), 1, "no request during the pause")

			pauses, err := Pauses(t.Context(), r.Store.Pool(), w.clock.Now())
			require.NoError(t, err)
			require.Len(t, pauses, 1)
			require.Equal(t, PauseDenied, pauses[0].Cause)
			require.Contains(t, pauses[0].Reason, strconv.Itoa(reply.Status))

			w.clock.Advance(time.Hour)
			reconcile(t, r)
			w.requireStatus(t, "u1", "pay1", Invited)
			w.requireStatus(t, "u2", "pay2", Invited)
		})
	}
}

func TestADeniedInvitationRequestPausesToo(t *testing.T) {
	t.Parallel()
	for _, status := range []int{401, 403, 307} {
		w := setup(t)
		w.buy(t, "u1", "pay1", "octo")
		w.github.Script("octo", testenv.Reply{Status: status})
		reconcile(t, w.inviter(t))
		w.requireStatus(t, "u1", "pay1", Pending)
		require.Len(t, w.github.Requests(http.MethodPut), 1)
		var outcome string
		require.NoError(t, w.db.QueryRow(t.Context(), "select outcome from payfold.invitation_attempt").Scan(&outcome))
		require.Equal(t, OutcomeNotSent, outcome)
	}
}

// The console shows pauses to people who may not see names.
func TestTheReasonOfAPauseDoesNotNameAUser(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.buy(t, "u1", "pay1", "octo")
	w.github.Script("octo", testenv.Reply{Status: 403, Body: `{"message":"Octo may not be invited, octocat may"}`})
	reconcile(t, w.inviter(t))
	pauses, err := Pauses(t.Context(), w.tables.Pool(), w.clock.Now())
	require.NoError(t, err)
	require.Len(t, pauses, 1)
	require.Equal(t, "403 (user) may not be invited, octocat may", pauses[0].Reason)
	require.Equal(t, "403 Octo may not be invited, octocat may", *w.invitation(t, "u1", "pay1").Reason)
}

func TestAfterAnUnclearAnswerTheNextAttemptLooksBeforeItInvites(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]testenv.Reply{
		"502":                       {Status: 502, Body: "<html>"},
		"503 with Retry-After":      {Status: 503, Header: map[string]string{"Retry-After": "1"}},
		"500":                       {Status: 500},
		"202":                       {Status: 202, Body: "{}"},
		"408 of a proxy":            {Status: 408},
		"a lost connection":         {Drops: true},
		"a 201 that is cut off":     {Status: 201, Body: `{"id":`},
		"a 201 without a body":      {Status: 201, Body: ``},
		"200 instead of 201 or 204": {Status: 200, Body: `{}`},
	} {
		for _, acts := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, acted %t", name, acts), func(t *testing.T) {
				t.Parallel()
				w := setup(t)
				w.buy(t, "u1", "pay1", "octo")
				reply := reply // a copy for this case
				reply.Acts = acts
				w.github.Script("octo", reply)
				r := w.inviter(t)
				reconcile(t, r)
				one := w.invitation(t, "u1", "pay1")
				require.Equal(t, Pending, one.Status)
				require.Equal(t, 1, one.ConsecutiveFailures)
				require.WithinRange(t, one.DueAt, w.clock.Now().Add(time.Second), w.clock.Now().Add(1500*time.Millisecond))
				now, err := r.records.figures(t.Context())
				require.NoError(t, err)
				require.Equal(t, 1, now.used, "an unknown outcome counts")

				w.clock.Advance(lateAction)
				reconcile(t, r)
				w.requireStatus(t, "u1", "pay1", Invited)
				require.Equal(t, 1, w.github.Sent("octo"))
				require.Zero(t, w.github.Repeated("octo"))
				now, err = r.records.figures(t.Context())
				require.NoError(t, err)
				require.Equal(t, 1, now.used, "an outcome that proved to be not sent does not count")
			})
		}
	}
}

func TestATimeoutIsAnUnclearAnswer(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.buy(t, "u1", "pay1", "octo")
	w.github.Script("octo", testenv.Reply{Acts: true, Holds: make(chan struct{})})
	r := w.inviter(t)
	r.attemptTimeout = 10 * time.Second // long enough for the look on a busy machine
	reconcile(t, r)
	w.requireStatus(t, "u1", "pay1", Pending)
	r.attemptTimeout = defaultAttemptTimeout
	w.clock.Advance(lateAction)
	reconcile(t, r)
	w.requireStatus(t, "u1", "pay1", Invited)
	require.Equal(t, 1, w.github.Sent("octo"))
	require.Zero(t, w.github.Repeated("octo"))
}

func TestRetryAfterOfAServerErrorIsHonoured(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.buy(t, "u1", "pay1", "octo")
	w.github.Script("octo", testenv.Reply{Status: 503, Header: map[string]string{"Retry-After": "600"}})
	r := w.inviter(t)
	reconcile(t, r)
	asked := len(w.github.Requests(""))
	w.clock.Advance(599 * time.Second)
	reconcile(t, r)
	require.Len(t, w.github.Requests(""), asked)
	w.clock.Advance(time.Second)
	reconcile(t, r)
	w.requireStatus(t, "u1", "pay1", Invited)
}

func TestAnInvitationThatKeepsFailingDelaysNobodyElse(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.buy(t, "u1", "pay1", "octo")
	w.clock.Advance(time.Second)
	w.buy(t, "u2", "pay2", "hubot")
	for range 20 {
		w.github.Script("octo", testenv.Reply{Status: 500})
	}
	r := w.inviter(t)
	for range 3 {
		reconcile(t, r)
		w.clock.Advance(1600 * time.Millisecond)
	}
	w.requireStatus(t, "u2", "pay2", Invited)
	w.clock.Advance(24 * time.Hour)
	w.github.ClearScripts()
	reconcile(t, r)
	w.requireStatus(t, "u1", "pay1", Invited)
}

func TestWaitsGrowUpToAMaximum(t *testing.T) {
	t.Parallel()
	r := &Reconciler{jitter: func() float64 { return 0 }}
	for failures, want := range map[int]time.Duration{
		1: time.Second, 2: 2 * time.Second, 3: 4 * time.Second, 9: 256 * time.Second, 10: 5 * time.Minute, 1000: 5 * time.Minute,
	} {
		require.Equal(t, want, r.wait(afterFault, failures))
	}
	r.jitter = func() float64 { return 0.999 }
	require.InDelta(t, 1.5, r.wait(afterFault, 1).Seconds(), 0.01)
}

func TestAnInvalidGitHubNameNeverReachesGitHub(t *testing.T) {
	t.Parallel()
	w := setup(t)
	for i, name := range []string{"../../../user/repos", "a/b", "octo?x=1", "octo#", "octo ", "é", "-octo", "..", ".", "a\nb", "%2e%2e"} {
		w.buy(t, fmt.Sprint("u", i), fmt.Sprint("pay", i), "name")
		w.exec(t, "update portal.payment_facts set github_username = $2 where provider_payment_id = $1", fmt.Sprint("pay", i), name)
	}
	reconcile(t, w.inviter(t))
	require.Empty(t, w.github.Requests(""))
	var failed int
	require.NoError(t, w.db.QueryRow(t.Context(), "select count(*) from payfold.invitation where status = 'failed'").Scan(&failed))
	require.Equal(t, 11, failed)
	for i, address := range []string{"github.com/%00", "https://github.com/%ff", "github.com/%zz", "github.com/oct%6f", strings.Repeat("x", 256)} {
		user, payment := fmt.Sprint("by address ", i), fmt.Sprint("address ", i)
		w.buy(t, user, payment, address)
		reconcile(t, w.inviter(t))
		w.requireStatus(t, user, payment, Failed)
		require.Equal(t, "not the name of a GitHub user", *w.invitation(t, user, payment).Reason)
	}
	require.Empty(t, w.github.Requests(""))
	w.exec(t, "update portal.payment_facts set reversed_at = now()")
	reconcile(t, w.inviter(t))
	require.Empty(t, w.github.Requests(""))
}
