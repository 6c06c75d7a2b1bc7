package invitations

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv"
)

func TestOfThreePurchasesUnderThreeNamesOnlyTheKeptOneGivesAccess(t *testing.T) {
	t.Parallel()
	for _, accepted := range []bool{true, false} {
		w := setup(t)
		w.remove = true
		names := map[string]string{"pay1": "ada", "pay2": "bob", "pay3": "cy"}
		r := w.inviter(t)
		for _, payment := range []string{"pay1", "pay2", "pay3"} {
			w.clock.Advance(time.Second)
			w.buy(t, "u1", payment, names[payment])
		}
		reconcile(t, r)
		for _, name := range names {
			require.Equal(t, 1, w.github.Sent(name))
			if accepted {
				w.github.Accept(t, name)
			}
		}
		w.refund(t, "pay3")
		w.refund(t, "pay1")
		reconcile(t, r)
		w.requireStatus(t, "u1", "pay1", Withdrawn)
		w.requireStatus(t, "u1", "pay2", Invited)
		w.requireStatus(t, "u1", "pay3", Withdrawn)
		for payment, name := range names {
			require.Equal(t, payment == "pay2", w.github.HasAccess(name) || w.github.Invitation(name) != nil, name)
			require.Equal(t, 1, w.github.Sent(name))
		}
	}
}

func TestAStrangersRefundedPurchaseDoesNotChangeTheVictimsInvitation(t *testing.T) {
	t.Parallel()
	for _, victims := range []string{"victim", ""} {
		w := setup(t)
		w.remove = true
		r := w.inviter(t)
		w.buy(t, "u1", "pay1", victims)
		reconcile(t, r)
		w.clock.Advance(time.Second)
		w.buy(t, "u1", "pay2", "mallory") // a stranger's checkout with u1's user id
		reconcile(t, r)
		w.github.Accept(t, "mallory")
		w.refund(t, "pay2")
		reconcile(t, r)
		w.requireStatus(t, "u1", "pay2", Withdrawn)
		require.False(t, w.github.HasAccess("mallory"))
		require.Equal(t, 1, w.github.Sent("mallory"))
		w.clock.Advance(25 * time.Hour)
		reconcile(t, r)
		if victims == "" {
			w.requireStatus(t, "u1", "pay1", Pending)
			w.buy(t, "u1", "pay1", "victim")
			reconcile(t, r)
		}
		w.requireStatus(t, "u1", "pay1", Invited)
		require.NotNil(t, w.github.Invitation("victim"))
		require.Equal(t, 1, w.github.Sent("mallory"))
	}
}

func TestAPurchaseWithoutANameDoesNotUseTheNameOfAnother(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.buy(t, "u1", "pay1", "octo")
	w.buy(t, "u1", "pay2", "")
	r := w.inviter(t)
	reconcile(t, r)
	w.requireStatus(t, "u1", "pay1", Invited)
	w.requireStatus(t, "u1", "pay2", Pending)
	require.Nil(t, w.invitation(t, "u1", "pay2").GitHubUser)
	w.buy(t, "u1", "pay2", "hubot")
	reconcile(t, r)
	w.requireStatus(t, "u1", "pay2", Invited)
	require.NotNil(t, w.github.Invitation("hubot"))
}

func TestAKeptPurchaseKeepsTheAccessBeforeItIsScanned(t *testing.T) {
	t.Parallel()
	w, r := invited(t, "octo")
	r.RemoveOnRevoke = true
	w.github.Accept(t, "octo")
	w.refund(t, "pay1")
	require.NoError(t, r.records.scan(t.Context(), nil))
	w.buy(t, "u2", "pay2", "Octo")
	worked, err := r.next(t.Context())
	require.NoError(t, err)
	require.True(t, worked)
	w.requireStatus(t, "u1", "pay1", Withdrawn)
	require.True(t, w.github.HasAccess("octo"))
	reconcile(t, r)
	w.requireStatus(t, "u2", "pay2", Collaborator)
	require.Equal(t, 1, w.github.Sent("octo"))
	w.refund(t, "pay2")
	reconcile(t, r)
	require.False(t, w.github.HasAccess("octo"), "the refund of the last purchase removes the access")
}

func TestANameOfAPurchaseCanChangeUntilGitHubWasAsked(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.buy(t, "u1", "pay1", "late")
	w.buy(t, "u2", "pay2", "asked")
	w.perDay = 1
	r := w.inviter(t)
	w.exec(t, "update portal.payment_facts set occurred_at = occurred_at + interval '1 hour' where provider_payment_id = 'pay1'")
	w.github.Script("asked", testenv.Reply{Drops: true})
	reconcile(t, r)
	w.clock.Advance(-time.Minute)
	w.buy(t, "u1", "pay1", "early")
	w.buy(t, "u2", "pay2", "other")
	w.clock.Advance(25 * time.Hour)
	r.PerDay = 50
	reconcile(t, r)
	require.NotNil(t, w.github.Invitation("early"))
	require.NotNil(t, w.github.Invitation("asked"))
	require.Zero(t, w.github.Sent("late")+w.github.Sent("other"))
}

// recordInvitation records an invitation without an attempt, as if the records of attempts were lost.
func (w *world) recordInvitation(t *testing.T, payment, gitHubUser, status, invitedAt string) {
	t.Helper()
	w.exec(t, `insert into payfold.invitation (user_id, repository, provider_payment_id, github_username, status, invited_at, activated_at, due_at, changed_at)
		select user_id, $2, provider_payment_id, $3, $4, nullif($5, '')::timestamptz, occurred_at, $6, $6 from portal.payment_facts where provider_payment_id = $1`,
		payment, testenv.GitHubRepository, gitHubUser, status, invitedAt, w.clock.Now())
}

func TestWithoutRecordsOfAttemptsNobodyIsInvitedAgainAndRefundedPurchasesAreWithdrawn(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.remove = true
	day := w.clock.Now().Format(time.RFC3339)
	for payment, name := range map[string]string{
		"waits": "ada", "joined": "bob", "refunded": "cy", "declined": "dan", "again": "dan", "unseen": "ada", "new": "eve", "nameless": "", "borrows": "",
	} {
		w.buy(t, "u1", payment, name)
	}
	w.refund(t, "refunded")
	w.clock.Advance(time.Hour)
	for _, one := range [][4]string{
		{"waits", "ada", "invited", day},
		{"joined", "bob", "collaborator", day},
		{"refunded", "cy", "collaborator", day},
		{"declined", "dan", "declined", day},
		{"nameless", "ada", "invited", day},
		{"borrows", "ada", "pending", ""},
	} {
		w.recordInvitation(t, one[0], one[1], one[2], one[3])
	}
	r := w.inviter(t)
	w.github.AddCollaborator("bob")
	w.github.AddCollaborator("cy")
	_, err := r.gitHub.Invite(t.Context(), "ada")
	require.NoError(t, err)

	reconcile(t, r)
	for payment, status := range map[string]string{
		"waits": Invited, "joined": Collaborator, "refunded": Withdrawn,
		"declined": Declined, "again": Declined, "unseen": Invited,
		"new": Invited, "nameless": Invited, "borrows": Pending,
	} {
		w.requireStatus(t, "u1", payment, status)
	}
	require.False(t, w.github.HasAccess("cy"), "its purchase was refunded; the user's other purchases name others")
	require.True(t, w.github.HasAccess("bob"))
	require.Equal(t, 1, w.github.Sent("ada"))
	require.Zero(t, w.github.Sent("dan"), "declined after the second purchase counts for both")
	require.Len(t, w.github.Requests(http.MethodPut), 2, "one for ada, one for eve")
}

func TestAnInvitationFollowsAPaymentThatGetsAnotherID(t *testing.T) {
	t.Parallel()
	rename := map[string]string{
		"found to be the order of a transaction": "update portal.payment_facts set provider_payment_id = 'tran', transaction_id = 'tran', order_id = 'ord'",
		"found to be the transaction of another": "update portal.payment_facts set provider_payment_id = 'other', transaction_id = 'ord'",
		"named otherwise by other rules":         "update portal.payment_facts set provider_payment_id = 'other', transaction_id = null, order_id = null",
	}
	for name, sql := range rename {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, end := range []string{Invited, Declined, Collaborator} {
				w := setup(t)
				w.remove = true
				w.buy(t, "u1", "ord", "octo")
				r := w.inviter(t)
				reconcile(t, r)
				switch end {
				case Declined:
					w.github.Decline(t, "octo")
				case Collaborator:
					w.github.Accept(t, "octo")
				}
				w.clock.Advance(24 * time.Hour)
				reconcile(t, r)
				w.exec(t, sql)
				reconcile(t, r)
				var payment, status string
				require.NoError(t, w.db.QueryRow(t.Context(), "select provider_payment_id, status from payfold.invitation").Scan(&payment, &status), "one row")
				require.Contains(t, sql, "provider_payment_id = '"+payment)
				require.Equal(t, end, status)
				require.Equal(t, 1, w.github.Sent("octo"))
				w.exec(t, "update portal.payment_facts set reversed_at = now()")
				reconcile(t, r)
				w.requireStatus(t, "u1", payment, Withdrawn)
				require.Nil(t, w.github.Invitation("octo"))
				require.False(t, w.github.HasAccess("octo"))
			}
		})
	}
}

// Its answer is recorded under the id that the attempt has.
func TestAPaymentThatGetsAnotherIDWhileGitHubAnswersHasInvited(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.remove = true
	w.buy(t, "u1", "ord", "octo")
	r, other := w.inviter(t), w.inviter(t)
	r.gitHub = afterInvite{r.gitHub, func() {
		w.exec(t, "update portal.payment_facts set provider_payment_id = 'tran', transaction_id = 'tran', order_id = 'ord'")
		reconcile(t, other)
		w.github.Accept(t, "octo")
	}}
	reconcile(t, r)
	w.exec(t, "update portal.payment_facts set reversed_at = now()")
	reconcile(t, r)
	w.requireStatus(t, "u1", "tran", Withdrawn)
	require.False(t, w.github.HasAccess("octo"))
}

// Two purchases of one moment.
func TestAnInvitationDoesNotMoveToAPurchaseForAnotherGitHubUser(t *testing.T) {
	t.Parallel()
	w, r := invited(t, "octo")
	w.buy(t, "u1", "pay2", "hubot")
	w.exec(t, "delete from portal.payment_facts where provider_payment_id = 'pay1'")
	reconcile(t, r)
	w.requireStatus(t, "u1", "pay1", Invited)
	w.requireStatus(t, "u1", "pay2", Invited)
	require.NotNil(t, w.github.Invitation("hubot"))
}

func TestMergedPaymentsHaveOneInvitation(t *testing.T) {
	t.Parallel()
	bought := func(w *world, names, gitHubUser string) string {
		return w.event("checkout.completed", names+`,"metadata":{"kind":"pro","user_id":"u1","github_username":"`+gitHubUser+`"}`)
	}
	for _, names := range [][2]string{{"octo", "octo"}, {"octo", "hubot"}, {"octo", ""}, {"", "octo"}} {
		w := setup(t)
		w.remove = true
		w.deliver(t, bought(w, `"order":{"id":"ord"}`, names[0]))
		w.clock.Advance(time.Second)
		w.deliver(t, bought(w, `"transaction":"tran"`, names[1]))
		r := w.inviter(t)
		reconcile(t, r)
		w.github.Accept(t, "octo")
		w.deliver(t, bought(w, `"order":{"id":"ord","transaction":"tran"}`, ""))
		for range 2 {
			reconcile(t, r)
			w.clock.Advance(24 * time.Hour)
		}
		require.Equal(t, 1, w.github.Sent("octo"))
		all, err := List(t.Context(), r.Store, w.clock.Now())
		require.NoError(t, err)
		for _, one := range all.Invitations {
			require.Equal(t, one.PaymentID != "tran", one.Status == Withdrawn, "%v %v", names, one)
		}
		w.deliver(t, w.event("refund.created", `"transaction":"tran"`))
		reconcile(t, r)
		require.False(t, w.github.HasAccess("octo"))
		require.Nil(t, w.github.Invitation("hubot"))
	}
}

func TestMergedPaymentsOfTwoUsersInviteTheUserWhoKeepsThePurchase(t *testing.T) {
	t.Parallel()
	bought := func(w *world, names, user, gitHubUser string) string {
		return w.event("checkout.completed", names+`,"metadata":{"kind":"pro","user_id":"`+user+`","github_username":"`+gitHubUser+`"}`)
	}
	for _, kept := range []string{"octo", "hubot"} {
		w := setup(t)
		w.remove = true
		names := map[string]string{"octo": `"order":{"id":"ord"}`, "hubot": `"transaction":"tran"`}
		lost := map[string]string{"octo": "hubot", "hubot": "octo"}[kept]
		w.deliver(t, bought(w, names[kept], "of "+kept, kept))
		w.clock.Advance(time.Second)
		w.deliver(t, bought(w, names[lost], "of "+lost, lost))
		r := w.inviter(t)
		reconcile(t, r)
		w.github.Accept(t, lost)
		w.deliver(t, bought(w, `"order":{"id":"ord","transaction":"tran"}`, "", ""))
		reconcile(t, r)
		require.NotNil(t, w.github.Invitation(kept))
		require.False(t, w.github.HasAccess(lost))
		w.requireStatus(t, "of "+kept, "tran", Invited)
		w.deliver(t, w.event("refund.created", `"transaction":"tran"`))
		reconcile(t, r)
		require.Nil(t, w.github.Invitation(kept))
		require.Equal(t, []int{1, 1}, []int{w.github.Sent(kept), w.github.Sent(lost)})
	}
}

func TestOfTwoInvitationsForMergedPaymentsOneEnds(t *testing.T) {
	t.Parallel()
	for _, names := range [][2]string{{"octo", "octo"}, {"octo", "hubot"}} {
		w := setup(t)
		w.buy(t, "u1", "ord", names[0])
		w.buy(t, "u1", "tran", names[1])
		r := w.inviter(t)
		reconcile(t, r)
		w.exec(t, "delete from portal.payment_facts where provider_payment_id = 'ord'")
		reconcile(t, r)
		w.requireStatus(t, "u1", "ord", Invited)
		require.Empty(t, w.github.Requests(http.MethodDelete), "a missing payment ends no invitation")

		w.exec(t, "update portal.payment_facts set order_id = 'ord'")
		reconcile(t, r)
		w.requireStatus(t, "u1", "ord", Withdrawn)
		w.requireStatus(t, "u1", "tran", Invited)
		require.NotNil(t, w.github.Invitation(names[1]))
		require.Equal(t, names[0] == names[1], w.github.Invitation(names[0]) != nil)
		require.Equal(t, 1, w.github.Sent(names[1]))
		w.refund(t, "tran")
		reconcile(t, r)
		require.Nil(t, w.github.Invitation(names[0]))
		require.Nil(t, w.github.Invitation(names[1]))
	}
}

func TestAPurchaseThatIsNoLicenceAnyMoreEndsItsInvitation(t *testing.T) {
	t.Parallel()
	w, r := invited(t, "octo")
	w.exec(t, "update portal.payment_facts set kind = 'one_time', github_username = null")
	reconcile(t, r)
	w.requireStatus(t, "u1", "pay1", Withdrawn)
	require.Nil(t, w.github.Invitation("octo"))
}

// Its kind is that of the checkout, and a pack needs credits.
func TestAPurchaseThatLacksSomethingForItsNewKindEndsItsInvitation(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.remove = true
	w.deliver(t,
		w.event("subscription.active", `"subscription":"s1","metadata":{"kind":"pro","user_id":"u1","github_username":"octo"}`),
		w.event("subscription.paid", `"subscription":"s1","transaction":"t1","metadata":{"user_id":"u1"}`))
	r := w.inviter(t)
	reconcile(t, r)
	w.github.Accept(t, "octo")
	w.deliver(t, w.event("checkout.completed", `"subscription":"s1","order":"o1","metadata":{"kind":"one_time","user_id":"u1"}`))
	var license string
	require.NoError(t, w.db.QueryRow(t.Context(), "select status from portal.pro_license").Scan(&license))
	require.Equal(t, "revoked", license)
	reconcile(t, r)
	w.requireStatus(t, "u1", "t1", Withdrawn)
	require.False(t, w.github.HasAccess("octo"))
}

// The catalogue says that the licence lasts as long as its subscription.
func TestALicenceThatEndsWithItsSubscriptionEndsItsInvitation(t *testing.T) {
	t.Parallel()
	w, r := invited(t, "octo")
	w.exec(t, "update portal.payment_facts set lasts = true, subscription_id = 's1'")
	w.exec(t, "insert into portal.subscription_facts (subscription_id, status, occurred_at, stream_seq) values ('s1', 'past_due', now(), 1)")
	reconcile(t, r)
	w.requireStatus(t, "u1", "pay1", Invited)
	w.exec(t, "update portal.subscription_facts set status = 'canceled'")
	reconcile(t, r)
	w.requireStatus(t, "u1", "pay1", Withdrawn)
	require.Nil(t, w.github.Invitation("octo"))
	w.exec(t, "update portal.subscription_facts set status = 'active'")
	reconcile(t, r)
	w.requireStatus(t, "u1", "pay1", Invited)
}

// A month that stays paid gives no access for later ones.
func TestARefundOfTheNewestMonthEndsTheInvitationsOfALicenceByTheMonth(t *testing.T) {
	t.Parallel()
	w, r := invited(t, "octo")
	w.buy(t, "u1", "pay2", "octo")
	w.exec(t, "update portal.payment_facts set lasts = true, subscription_id = 's1', period_end = '2026-02-01' where provider_payment_id = 'pay1'")
	w.exec(t, "update portal.payment_facts set lasts = true, subscription_id = 's1', period_end = '2026-03-01' where provider_payment_id = 'pay2'")
	reconcile(t, r)
	w.requireStatus(t, "u1", "pay2", Invited)
	w.exec(t, "update portal.payment_facts set reversed_at = now() where provider_payment_id = 'pay1'")
	reconcile(t, r)
	require.NotNil(t, w.github.Invitation("octo"), "the newest month is paid")
	w.exec(t, "update portal.payment_facts set reversed_at = null where provider_payment_id = 'pay1'")
	reconcile(t, r)
	w.exec(t, "update portal.payment_facts set reversed_at = now() where provider_payment_id = 'pay2'")
	reconcile(t, r)
	require.Nil(t, w.github.Invitation("octo"))
	w.requireStatus(t, "u1", "pay1", Withdrawn)
	w.requireStatus(t, "u1", "pay2", Withdrawn)
}
