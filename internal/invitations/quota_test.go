package invitations

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv"
)

func TestTheQuotaHoldsAcrossProcessesAndTheOldestPurchaseGoesFirst(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.perDay = 5
	for i := range 12 {
		w.buy(t, fmt.Sprint("u", 11-i), fmt.Sprint("pay", i), fmt.Sprintf("octo%02d", i))
		w.clock.Advance(time.Minute)
	}
	for day := range 3 {
		for range 3 { // processes
			reconcile(t, w.inviter(t))
			w.clock.Advance(7*time.Hour + 59*time.Minute)
		}
		require.Len(t, w.github.Requests(http.MethodPut), min(5*(day+1), 12))
		w.clock.Advance(3 * time.Minute)
	}
	for i, request := range w.github.Requests(http.MethodPut) {
		require.Contains(t, request.Path, fmt.Sprintf("octo%02d", i))
	}
}

func TestAReservationWithoutAnAnswerCountsForTheQuota(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.perDay = 1
	w.buy(t, "u1", "pay1", "octo")
	r := w.inviter(t)
	require.NoError(t, r.records.scan(t.Context(), nil))
	_, err := r.records.reserve(t.Context(), r.PerDay)
	require.NoError(t, err) // its process dies
	w.buy(t, "u2", "pay2", "hubot")
	reconcile(t, r)
	require.Empty(t, w.github.Requests(http.MethodPut))
	w.clock.Advance(23 * time.Hour)
	reconcile(t, r)
	w.requireStatus(t, "u1", "pay1", Invited) // its own attempt counts already
	w.requireStatus(t, "u2", "pay2", Pending)
	w.clock.Advance(23 * time.Hour)
	reconcile(t, r)
	w.requireStatus(t, "u2", "pay2", Pending)
	w.clock.Advance(time.Hour)
	reconcile(t, r)
	w.requireStatus(t, "u2", "pay2", Invited)
}

func TestConcurrentInvitersInviteEachUserOnceWithinTheQuota(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.perDay = 9
	for i := range 12 {
		w.buy(t, fmt.Sprint("u", i), fmt.Sprint("pay", i), fmt.Sprint("octo", i))
	}
	for i := range 3 { // other users who name the same GitHub users
		w.buy(t, fmt.Sprint("v", i), fmt.Sprint("payv", i), fmt.Sprint("Octo", i))
	}
	w.github.Script("octo1", testenv.Reply{Acts: true, Drops: true})
	w.github.Script("octo2", testenv.Reply{Drops: true})
	inviters := []*Reconciler{w.inviter(t), w.inviter(t), w.inviter(t)}
	for range 4 {
		var group sync.WaitGroup
		for _, r := range inviters {
			group.Go(func() { reconcile(t, r) })
		}
		group.Wait()
		w.clock.Advance(lateAction)
	}
	sent := 0
	for i := range 12 {
		name := fmt.Sprint("octo", i)
		require.LessOrEqual(t, w.github.Sent(name), 1)
		require.Zero(t, w.github.Repeated(name))
		sent += w.github.Sent(name)
	}
	require.Equal(t, 9, sent)
	w.clock.Advance(24 * time.Hour)
	reconcile(t, inviters[0])
	for i := range 12 {
		require.Equal(t, 1, w.github.Sent(fmt.Sprint("octo", i)))
	}
	for i := range 3 {
		w.requireStatus(t, fmt.Sprint("v", i), fmt.Sprint("payv", i), Invited)
	}
}

func TestManyPurchasesOfOneGitHubNameDoNotSlowTheNextAttemptDown(t *testing.T) {
	t.Parallel()
	w := setup(t)
	_, err := w.db.Exec(t.Context(), `insert into payfold.invitation (user_id, repository, provider_payment_id, github_username, status, activated_at, due_at, changed_at)
		select 'u' || i, $1, 'pay' || i, case when i % 4 = 0 then 'octo' else 'octo-' || i end, case when i % 4 < 2 then 'pending' else 'failed' end, $2, $2, $2
		from generate_series(1, 8000) as i`, testenv.GitHubRepository, w.clock.Now())
	require.NoError(t, err)
	_, err = w.db.Exec(t.Context(), `insert into payfold.invitation_attempt (user_id, repository, provider_payment_id, github_username, purpose, reserved_at, unasked, outcome, answered_at)
		select user_id, repository, provider_payment_id, github_username, 'invite', due_at, false,
			case when i % 4 = 0 then 'not_sent' when i % 40 = 1 then 'unknown' else 'sent' end, due_at
		from payfold.invitation, lateral (select substr(user_id, 2)::int as i) n`)
	require.NoError(t, err)
	_, err = w.db.Exec(t.Context(), `insert into portal.payment_facts (provider_payment_id, provider, user_id, kind, event_id, occurred_at, stream_seq, github_username, paid, known, lasts, reversed_seq)
		select provider_payment_id, 'provider', user_id, 'pro', provider_payment_id, due_at, 1, github_username, true, true, false, 0 from payfold.invitation`)
	require.NoError(t, err)
	_, err = w.db.Exec(t.Context(), "analyze payfold.invitation, payfold.invitation_attempt, portal.payment_facts")
	require.NoError(t, err)
	var plan []struct {
		Plan struct {
			Pages int `json:"Shared Hit Blocks"`
		}
	}
	err = w.tables.Pool().QueryRow(t.Context(), "explain (analyze, buffers, timing off, format json) "+reserveAttempt,
		testenv.GitHubRepository, w.clock.Now(), 10_000, lateAction, maxAhead).Scan(&plan)
	require.NoError(t, err)
	require.Less(t, plan[0].Plan.Pages, 10_000)
}
