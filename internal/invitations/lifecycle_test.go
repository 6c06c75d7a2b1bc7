package invitations

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv"
)

func TestARevokedLicenceWithdrawsItsPendingInvitation(t *testing.T) {
	t.Parallel()
	w, r := invited(t, "octo")
	w.refund(t, "pay1")
	reconcile(t, r)
	w.requireStatus(t, "u1", "pay1", Withdrawn)
	require.Nil(t, w.github.Invitation("octo"))
	asked := len(w.github.Requests(""))
	w.clock.Advance(48 * time.Hour)
	reconcile(t, r)
	require.Len(t, w.github.Requests(""), asked)
}

func TestALicenceRevokedBeforeItWasSentChangesNothingAtGitHub(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.github.AddCollaborator("mona")
	w.buy(t, "u1", "pay1", "octo")
	w.buy(t, "u2", "pay2", "")
	w.buy(t, "u3", "pay3", "mona")
	w.remove = true
	r := w.inviter(t)
	require.NoError(t, r.records.scan(t.Context(), nil))
	w.refund(t, "pay1")
	w.refund(t, "pay2")
	w.refund(t, "pay3")
	reconcile(t, r)
	w.requireStatus(t, "u1", "pay1", Withdrawn)
	w.requireStatus(t, "u2", "pay2", Withdrawn)
	w.requireStatus(t, "u3", "pay3", Withdrawn)
	require.True(t, w.github.HasAccess("mona"))
	require.Len(t, w.github.Requests(http.MethodGet), len(w.github.Requests("")), "it only looks")
}

// A fail-over of the database may lose the record of an invitation, and also the purchase, which is then
// folded again together with its refund.
func TestAnInvitationWhoseRecordIsLostIsWithdrawnAfterARefund(t *testing.T) {
	t.Parallel()
	for _, seen := range []bool{true, false} {
		t.Run(fmt.Sprint("seen before the refund: ", seen), func(t *testing.T) {
			t.Parallel()
			w := setup(t)
			w.buy(t, "u1", "pay1", "octo")
			w.buy(t, "u2", "pay2", "mona")
			r := w.inviter(t)
			reconcile(t, r)
			w.exec(t, "delete from payfold.invitation_attempt")
			w.exec(t, "delete from payfold.invitation")
			if seen {
				require.NoError(t, r.records.scan(t.Context(), nil))
			}
			w.refund(t, "pay1")
			reconcile(t, r)
			w.requireStatus(t, "u1", "pay1", Withdrawn)
			w.requireStatus(t, "u2", "pay2", Invited)
			require.Nil(t, w.github.Invitation("octo"))
			require.NotNil(t, w.github.Invitation("mona"))
			require.Len(t, w.github.Requests(http.MethodPut), 2)
		})
	}
}

func TestAPurchaseThatWasRefundedLongAgoAsksNothingOfGitHub(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.buy(t, "u1", "pay1", "octo")
	w.refund(t, "pay1")
	w.clock.Advance(expiresAfter)
	reconcile(t, w.inviter(t))
	require.Empty(t, w.github.Requests(""))
}

func TestARevocationBetweenTheScanAndTheAttemptCounts(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.buy(t, "u1", "pay1", "octo")
	r := w.inviter(t)
	require.NoError(t, r.records.scan(t.Context(), nil))
	w.refund(t, "pay1")
	worked, err := r.next(t.Context())
	require.NoError(t, err)
	require.False(t, worked)
}

func TestALicenceRevokedAfterALostAnswerWithdrawsWhatWasSent(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.buy(t, "u1", "pay1", "octo")
	w.github.Script("octo", testenv.Reply{Acts: true, Drops: true})
	r := w.inviter(t)
	reconcile(t, r)
	w.refund(t, "pay1")
	w.clock.Advance(lateAction)
	reconcile(t, r)
	w.requireStatus(t, "u1", "pay1", Withdrawn)
	require.Equal(t, 1, w.github.Sent("octo"))
	require.Nil(t, w.github.Invitation("octo"))
}

func TestARefundRemovesAnAcceptedUserOnlyWhereThatIsConfigured(t *testing.T) {
	t.Parallel()
	for _, remove := range []bool{false, true} {
		w, r := invited(t, "octo")
		r.RemoveOnRevoke = remove
		w.github.Accept(t, "octo")
		w.refund(t, "pay1")
		reconcile(t, r)
		w.requireStatus(t, "u1", "pay1", Withdrawn)
		require.Equal(t, !remove, w.github.HasAccess("octo"))
	}
}

func TestAccessFromAnInvitationWithALostAnswerIsRemoved(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.remove = true
	w.buy(t, "u1", "pay1", "octo")
	w.github.Script("octo", testenv.Reply{Acts: true, Drops: true})
	r := w.inviter(t)
	reconcile(t, r)
	w.github.Accept(t, "octo")
	w.clock.Advance(lateAction)
	reconcile(t, r)
	w.requireStatus(t, "u1", "pay1", Collaborator)
	w.refund(t, "pay1")
	reconcile(t, r)
	require.False(t, w.github.HasAccess("octo"))
}

func TestAccessWithoutAnInvitationOfPayfoldIsNeverRemoved(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.remove = true
	w.github.AddCollaborator("maintainer")
	w.buy(t, "u1", "pay1", "maintainer")
	r := w.inviter(t)
	reconcile(t, r)
	w.refund(t, "pay1")
	reconcile(t, r)
	w.requireStatus(t, "u1", "pay1", Withdrawn)
	require.True(t, w.github.HasAccess("maintainer"))
}

func TestOnlyAnExplicitRevocationWithdraws(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.buy(t, "u1", "pay1", "octo")
	w.buy(t, "u2", "pay2", "hubot")
	w.perDay = 1
	r := w.inviter(t)
	reconcile(t, r)
	w.exec(t, "delete from portal.payment_facts")
	for range 10 {
		w.clock.Advance(24 * time.Hour)
		reconcile(t, r)
	}
	w.requireStatus(t, "u1", "pay1", Invited)
	w.requireStatus(t, "u2", "pay2", Pending)
	require.Len(t, w.github.Requests(http.MethodPut), 1)
	require.Empty(t, w.github.Requests(http.MethodDelete))
}

func TestAnExpiredInvitationIsRepeatedOnce(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.buy(t, "u1", "pay1", "octo")
	r := w.inviter(t)
	for day := range 30 {
		reconcile(t, r)
		require.Equal(t, 1+min(day/7, 1), w.github.Sent("octo"), "day %d", day)
		w.clock.Advance(24 * time.Hour)
	}
	w.requireStatus(t, "u1", "pay1", Expired)
	require.Nil(t, w.github.Invitation("octo"), "GitHub would list the expired one for ever")
	require.Zero(t, w.github.Repeated("octo"), "the expired one is cancelled first")
	_, err := Retry(t.Context(), r.Store, "u1", w.clock.Now())
	require.NoError(t, err)
	reconcile(t, r)
	require.Equal(t, 3, w.github.Sent("octo"))
	w.requireStatus(t, "u1", "pay1", Invited)
}

func TestAnInvitationThatIsGoneAfterItsTimeCountsAsExpired(t *testing.T) {
	t.Parallel()
	w, r := invited(t, "octo")
	w.github.Decline(t, "octo") // as if GitHub did not list expired invitations
	w.clock.Advance(8 * 24 * time.Hour)
	reconcile(t, r)
	require.Equal(t, 2, w.github.Sent("octo"))
}

func TestAcceptedAndDeclinedAreNoticedWithinADay(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.buy(t, "u1", "pay1", "octo")
	w.buy(t, "u2", "pay2", "hubot")
	r := w.inviter(t)
	reconcile(t, r)
	w.github.Accept(t, "octo")
	w.github.Decline(t, "hubot")
	w.clock.Advance(24 * time.Hour)
	reconcile(t, r)
	w.requireStatus(t, "u1", "pay1", Collaborator)
	w.requireStatus(t, "u2", "pay2", Declined)
	w.clock.Advance(100 * 24 * time.Hour)
	reconcile(t, r)
	require.Equal(t, 1, w.github.Sent("hubot"), "a declined invitation is not repeated")
	w.buy(t, "u2", "pay3", "hubot")
	reconcile(t, r)
	w.requireStatus(t, "u2", "pay3", Invited) // a new purchase
	w.requireStatus(t, "u2", "pay2", Declined)
	w.github.Decline(t, "hubot")
	_, err := Retry(t.Context(), r.Store, "u2", w.clock.Now())
	require.NoError(t, err)
	reconcile(t, r)
	require.Equal(t, 3, w.github.Sent("hubot"))
}

func TestAWithdrawalThatGitHubDoesNotAnswerIsTriedAgain(t *testing.T) {
	t.Parallel()
	w, r := invited(t, "octo")
	w.refund(t, "pay1")
	w.github.Script("", testenv.Reply{Status: 500})
	reconcile(t, r)
	w.requireStatus(t, "u1", "pay1", Invited)
	w.clock.Advance(2 * time.Second)
	reconcile(t, r)
	w.requireStatus(t, "u1", "pay1", Withdrawn)
}

func TestARebuiltSchemaInvitesNobodyAgain(t *testing.T) {
	t.Parallel()
	w, r := invited(t, "octo")
	w.exec(t, "create schema portal_next")
	w.exec(t, `do $$
		declare
			one text;
			licenses text;
		begin
			for one in select tablename from pg_tables where schemaname = 'portal' loop
				execute format('create table portal_next.%1$I (like portal.%1$I including all)', one);
				execute format('insert into portal_next.%1$I select * from portal.%1$I', one);
			end loop;
			set local search_path = portal;
			licenses = pg_get_viewdef('license_facts'::regclass);
			set local search_path = portal_next;
			execute 'create view license_facts as ' || licenses;
		end $$`)
	w.exec(t, "begin; alter schema portal rename to portal_prev; alter schema portal_next rename to portal; commit")
	w.clock.Advance(time.Hour)
	w.buy(t, "u2", "pay2", "hubot") // into the promoted schema
	reconcile(t, r)
	require.Equal(t, 1, w.github.Sent("octo"))
	require.Equal(t, 1, w.github.Sent("hubot"))
	require.Len(t, w.github.Requests(http.MethodPut), 2)
}

func TestWithoutCredentialsInvitationsStayPending(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.buy(t, "u1", "pay1", "octo")
	r := w.inviter(t)
	r.gitHub, r.Repository, r.records = nil, "", records{r.Store, "", w.clock.Now, defaultTimeout}
	reconcile(t, r)
	one := w.invitation(t, "u1", "pay1")
	require.Equal(t, Pending, one.Status)
	require.Empty(t, one.Repository)

	reconcile(t, w.inviter(t)) // configured
	one = w.invitation(t, "u1", "pay1")
	require.Equal(t, Invited, one.Status)
	require.Equal(t, testenv.GitHubRepository, one.Repository)
}

// A refund does not take back what was there before the purchase.
func TestAnInvitationFromBeforeThePurchaseStaysAfterItsRefund(t *testing.T) {
	t.Parallel()
	for _, recorded := range []bool{false, true} {
		w := setup(t)
		w.perDay = 0
		w.github.InviteByHand("octo")
		w.clock.Advance(2 * clockSkew)
		w.buy(t, "u1", "pay1", "octo")
		if recorded {
			reconcile(t, w.inviter(t))
		}
		w.refund(t, "pay1")
		reconcile(t, w.inviter(t))
		w.requireStatus(t, "u1", "pay1", Withdrawn)
		require.NotNil(t, w.github.Invitation("octo"))
	}
}
