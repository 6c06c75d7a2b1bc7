package endtoend

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/wait"
)

func licence(event, payment, user, gitHubUser string) string {
	return fmt.Sprintf(`{"id":%q,"eventType":"checkout.completed","object":{"provider_payment_id":%q,"metadata":{"kind":"pro","user_id":%q,"github_username":%q}}}`,
		event, payment, user, gitHubUser)
}

func refund(event, payment string) string {
	return fmt.Sprintf(`{"id":%q,"eventType":"refund.created","object":{"provider_payment_id":%q}}`, event, payment)
}

// inviting returns the variables of a projector that invites.
func inviting(github *testenv.GitHub) []string {
	return []string{"INVITE_GITHUB_API_URL=" + github.URL, "INVITE_REPOSITORY=" + testenv.GitHubRepository, "INVITE_GITHUB_TOKEN=" + testenv.GitHubToken}
}

func (w *world) awaitInvitation(t *testing.T, user, status string) {
	t.Helper()
	wait.Until(t, func() bool {
		is, err := query[string](t, w.database, "select status from payfold.invitation where user_id = $1 order by activated_at desc limit 1", user)
		return err == nil && is == status
	})
}

func TestADeliveryBecomesAnInvitation(t *testing.T) {
	t.Parallel()
	w := setup(t)
	github := testenv.NewGitHub(t, time.Now)
	first, second := w.startProjector(t, inviting(github)...), w.startProjector(t, inviting(github)...)
	w.deliver(t, licence("evt_0", "pay_0", "u_0", "mona"))
	github.AwaitInvite(t)
	w.awaitInvitation(t, "u_0", "invited")

	for i := range 5 {
		w.deliver(t, licence(fmt.Sprint("evt_1", i), fmt.Sprint("pay_1", i), fmt.Sprint("u_1", i), fmt.Sprint("octo", i)))
		github.AwaitInvite(t)
	}
	w.awaitInvitation(t, "u_14", "invited")
	w.deliver(t, refund("evt_2", "pay_14"))
	w.awaitInvitation(t, "u_14", "withdrawn")
	require.Nil(t, github.Invitation("octo4"))
	require.NotNil(t, github.Invitation("octo3"))
	for _, projector := range []*testenv.Program{first, second} {
		stop(t, projector)
		require.NotContains(t, projector.Output(), testenv.GitHubToken)
	}
}

func TestARefundEndsOnlyItsOwnInvitation(t *testing.T) {
	t.Parallel()
	w := setup(t)
	github := testenv.NewGitHub(t, time.Now)
	w.startProjector(t, append(inviting(github), "INVITE_REMOVE_ON_REVOKE=true")...)
	await := func(payment, status string) {
		wait.Until(t, func() bool {
			is, err := query[string](t, w.database, "select status from payfold.invitation where provider_payment_id = $1", payment)
			return err == nil && is == status
		}, payment, status)
	}
	// Three purchases of one user. The last one is a stranger's, with the user's id.
	for payment, name := range map[string]string{"pay_1": "ada", "pay_2": "bob", "pay_3": "mallory"} {
		w.deliver(t, licence("evt_"+payment, payment, "u_1", name))
		await(payment, "invited")
	}
	github.Accept(t, "ada")
	github.Accept(t, "mallory")
	w.deliver(t, refund("evt_r3", "pay_3"), refund("evt_r1", "pay_1"))
	await("pay_1", "withdrawn")
	await("pay_3", "withdrawn")
	await("pay_2", "invited")
	require.False(t, github.HasAccess("ada"))
	require.False(t, github.HasAccess("mallory"))
	require.NotNil(t, github.Invitation("bob"))
	w.promote(t, "rebuild", "--promote")
	w.deliver(t, licence("evt_4", "pay_4", "u_1", "ada")) // a new purchase after the promotion
	await("pay_4", "invited")
	for name, sent := range map[string]int{"ada": 2, "bob": 1, "mallory": 1} {
		require.Equal(t, sent, github.Sent(name), name)
	}
}

func TestAKillWhileGitHubAnswersMakesNoSecondInvitation(t *testing.T) {
	t.Parallel()
	for _, acts := range []bool{true, false} {
		t.Run(fmt.Sprint("GitHub acts: ", acts), func(t *testing.T) {
			t.Parallel()
			w := setup(t)
			github := testenv.NewGitHub(t, time.Now)
			arrived, never := make(chan struct{}), make(chan struct{})
			reply := testenv.Reply{Arrived: arrived, Holds: never}
			if !acts {
				reply.Drops = true
			}
			github.Script("octo", reply)
			projector := w.startProjector(t, inviting(github)...)
			w.deliver(t, licence("evt_1", "pay_1", "u_1", "octo"))
			<-arrived
			projector.Kill()

			w.startProjector(t, inviting(github)...)
			w.deliver(t, licence("evt_2", "pay_2", "u_2", "hubot"))
			w.awaitInvitation(t, "u_2", "invited") // other invitations do not wait
			w.awaitInvitation(t, "u_1", "invited")
			require.Equal(t, 1, github.Sent("octo"))
			require.Zero(t, github.Repeated("octo"))
		})
	}
}

func TestAFrozenInviterIsReplacedAndInvitesNobodyTwice(t *testing.T) {
	t.Parallel()
	w := setup(t)
	github := testenv.NewGitHub(t, time.Now)
	env := append(inviting(github), "LEASE_TIME=2s")
	projectors := []*testenv.Program{w.startProjector(t, env...), w.startProjector(t, env...)}
	w.deliver(t, licence("evt_0", "pay_0", "u_0", "mona"))
	github.AwaitInvite(t)
	w.awaitInvitation(t, "u_0", "invited")

	inviter := mustQuery[string](t, w.database, `select application_name from pg_stat_activity join pg_locks using (pid)
		where locktype = 'advisory' and objsubid = 2 and mode = 'ExclusiveLock' and datname = current_database() and granted`)
	frozen := projectors[0]
	if !strings.Contains(inviter, fmt.Sprintf("-%d-", frozen.Pid())) {
		frozen = projectors[1]
	}
	frozen.Freeze(t)
	w.deliver(t, licence("evt_1", "pay_1", "u_1", "octo"))
	w.awaitInvitation(t, "u_1", "invited")
	frozen.Signal(syscall.SIGCONT)
	w.deliver(t, licence("evt_2", "pay_2", "u_2", "hubot"))
	w.awaitInvitation(t, "u_2", "invited")
	for _, name := range []string{"mona", "octo", "hubot"} {
		require.Equal(t, 1, github.Sent(name))
		require.Zero(t, github.Repeated(name))
	}
}

func TestARebuildThatIsPromotedInvitesNobodyAgain(t *testing.T) {
	t.Parallel()
	w := setup(t)
	github := testenv.NewGitHub(t, time.Now)
	w.startProjector(t, inviting(github)...)
	for i := range 3 {
		w.deliver(t, licence(fmt.Sprint("evt_", i), fmt.Sprint("pay_", i), fmt.Sprint("u_", i), fmt.Sprint("octo", i)))
	}
	for i := range 3 {
		w.awaitInvitation(t, fmt.Sprint("u_", i), "invited")
	}
	w.deliver(t, refund("evt_r", "pay_2"))
	w.awaitInvitation(t, "u_2", "withdrawn")
	before := len(github.Requests(http.MethodPut))
	for range 2 {
		w.promote(t, "rebuild", "--promote")
	}
	w.deliver(t, licence("evt_9", "pay_9", "u_9", "hubot"))
	w.awaitInvitation(t, "u_9", "invited")
	require.Len(t, github.Requests(http.MethodPut), before+1)
	require.NotNil(t, github.Invitation("octo0"))
	require.NotNil(t, github.Invitation("octo1"))
}

func TestInvitationsAreListedAndRetried(t *testing.T) {
	t.Parallel()
	w := setup(t)
	github := testenv.NewGitHub(t, time.Now)
	github.RemoveUser("nobody")
	w.startProjector(t, inviting(github)...)
	w.deliver(t, licence("evt_1", "pay_1", "u_1", "nobody"), licence("evt_2", "pay_2", "u_2", ""),
		`{"id":"evt_3","eventType":"checkout.completed","object":{"provider_payment_id":"pay_3","metadata":{"kind":"pro","user_id":"u_3","github_username":"\u001b[2J\u202e\nrow"}}}`)
	w.awaitInvitation(t, "u_1", "failed")
	w.awaitInvitation(t, "u_3", "failed")
	w.awaitInvitation(t, "u_2", "pending")

	code, output := w.invitations(t)
	require.Zero(t, code, output)
	require.Regexp(t, `u_1 +acme/tool +pay_1 +nobody +failed +404 Not Found`, output)
	require.Regexp(t, `u_2 +acme/tool +pay_2 +- +pending +waits for a GitHub user`, output)
	require.Contains(t, output, `\x1b[2J\nrow`, "buyers choose the name")
	code, output = w.invitations(t, "list", "--json")
	require.Zero(t, code, output)
	for line := range strings.Lines(output) {
		var one struct {
			UserID string `json:"user_id"`
			Status string `json:"status"`
		}
		require.NoError(t, json.Unmarshal([]byte(line), &one), line)
		require.Equal(t, map[string]string{"u_1": "failed", "u_2": "pending", "u_3": "failed"}[one.UserID], one.Status)
		require.NotContains(t, line, "\u202e")
	}

	github.AddUser("nobody")
	code, output = w.invitations(t, "retry", "u_1", "--json")
	require.Zero(t, code, output)
	require.JSONEq(t, `{"user_id":"u_1","repository":"acme/tool","status":"pending"}`, output)
	w.awaitInvitation(t, "u_1", "invited")
	code, output = w.invitations(t, "retry", "u_1")
	require.Equal(t, cli.ExitNo, code)
	require.Contains(t, output, "no failed, declined or expired invitation")
}

func (w *world) invitations(t *testing.T, args ...string) (code int, output string) {
	t.Helper()
	program := testenv.Start(t, "projector", append(w.env(), "DATABASE_URL="+w.database), append([]string{"invitations"}, args...)...)
	code = program.Exit(t)
	return code, program.Output()
}

func TestWithoutCredentialsInvitationsWaitAndThatIsLoggedOnce(t *testing.T) {
	t.Parallel()
	w := setup(t)
	projector := w.startProjector(t)
	w.deliver(t, licence("evt_1", "pay_1", "u_1", "octo"))
	w.awaitInvitation(t, "u_1", "pending")
	code, output := w.invitations(t)
	require.Zero(t, code, output)
	require.Regexp(t, `u_1 +pay_1 +octo +pending +waits for INVITE_REPOSITORY`, output)
	stop(t, projector)
	require.Equal(t, 1, strings.Count(projector.Output(), "no GitHub credentials"))
}
