package invitations

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestARefundKeepsTheAccessOfAnotherUsersLicence(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.remove = true
	w.buy(t, "u1", "pay1", "octo")
	w.buy(t, "u2", "pay2", "Octo")
	r := w.inviter(t)
	reconcile(t, r)
	require.Equal(t, 1, w.github.Sent("octo"), "one GitHub user, one invitation")
	w.refund(t, "pay1")
	reconcile(t, r)
	require.NotNil(t, w.github.Invitation("octo"))
	w.github.Accept(t, "octo")
	w.refund(t, "pay2")
	reconcile(t, r)
	require.False(t, w.github.HasAccess("octo"), "the refund of the last licence removes the access")
}

func TestTwoPurchasesForOneGitHubUserShareAnInvitation(t *testing.T) {
	t.Parallel()
	w, r := invited(t, "octo")
	w.clock.Advance(time.Minute)
	w.buy(t, "u1", "pay2", "octo")
	reconcile(t, r)
	w.requireStatus(t, "u1", "pay2", Invited)
	require.Equal(t, 1, w.github.Sent("octo"))
	require.Zero(t, w.github.Repeated("octo"))
	w.refund(t, "pay2") // pay1 is kept
	reconcile(t, r)
	w.requireStatus(t, "u1", "pay2", Withdrawn)
	require.NotNil(t, w.github.Invitation("octo"))
	w.refund(t, "pay1") // none is kept
	reconcile(t, r)
	w.requireStatus(t, "u1", "pay1", Withdrawn)
	require.Nil(t, w.github.Invitation("octo"))
}

func TestASecondPurchaseBeforeTheFirstInvitationSharesIt(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.buy(t, "u1", "pay1", "octo")
	r := w.inviter(t)
	require.NoError(t, r.records.scan(t.Context(), nil))
	w.buy(t, "u1", "pay2", "octo")
	reconcile(t, r)
	w.requireStatus(t, "u1", "pay1", Invited)
	w.requireStatus(t, "u1", "pay2", Invited)
	require.Equal(t, 1, w.github.Sent("octo"))
	require.Zero(t, w.github.Repeated("octo"))
}

func TestAPurchaseAfterARefundIsInvitedAgain(t *testing.T) {
	t.Parallel()
	w, r := invited(t, "octo")
	w.refund(t, "pay1")
	reconcile(t, r)
	w.buy(t, "u1", "pay2", "octo")
	reconcile(t, r)
	w.requireStatus(t, "u1", "pay1", Withdrawn)
	w.requireStatus(t, "u1", "pay2", Invited)
	require.Equal(t, 2, w.github.Sent("octo"))
	require.NotNil(t, w.github.Invitation("octo"))
}

func TestARetryLeavesTheInvitationOfARefundedPurchaseWithdrawn(t *testing.T) {
	t.Parallel()
	w, r := invited(t, "octo")
	w.refund(t, "pay1")
	reconcile(t, r)
	repositories, err := Retry(t.Context(), r.Store, "u1", w.clock.Now())
	require.NoError(t, err)
	require.Empty(t, repositories)
	reconcile(t, r)
	w.requireStatus(t, "u1", "pay1", Withdrawn)
	require.Equal(t, 1, w.github.Sent("octo"))
}

func TestAfterAFailureOnlyRetryUsesANewNameOfThePurchase(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.github.RemoveUser("typo")
	w.buy(t, "u1", "pay1", "typo")
	r := w.inviter(t)
	reconcile(t, r)
	w.clock.Advance(-time.Hour) // the name with the earliest time of the provider is the payment's
	w.buy(t, "u1", "pay1", "octo")
	w.clock.Advance(time.Hour)
	reconcile(t, r)
	w.requireStatus(t, "u1", "pay1", Failed)
	_, err := Retry(t.Context(), r.Store, "u1", w.clock.Now())
	require.NoError(t, err)
	reconcile(t, r)
	require.NotNil(t, w.github.Invitation("octo"))
}

// GitHub lists an invitation under the present name of its user.
func TestAnInvitationStaysThatOfItsPurchaseWhenItsUserRenamesTheAccount(t *testing.T) {
	t.Parallel()
	w, r := invited(t, "ada")
	w.github.Rename("ada", "lovelace")
	w.clock.Advance(watchInterval)
	reconcile(t, r)
	w.requireStatus(t, "u1", "pay1", Invited)
	w.refund(t, "pay1")
	reconcile(t, r)
	w.requireStatus(t, "u1", "pay1", Withdrawn)
	require.Nil(t, w.github.Invitation("lovelace"))
}

// Two purchases of one account, before and after it was renamed, have one invitation. It stays until both are refunded.
func TestPurchasesUnderTheOldAndTheNewNameShareAnInvitation(t *testing.T) {
	t.Parallel()
	for _, later := range []time.Duration{2 * time.Minute, time.Hour} {
		for _, accepts := range []bool{false, true} {
			w, r := invited(t, "ada")
			r.RemoveOnRevoke = true
			w.github.Rename("ada", "lovelace")
			w.clock.Advance(later)
			w.buy(t, "u1", "pay2", "lovelace")
			reconcile(t, r)
			w.refund(t, "pay1")
			reconcile(t, r)
			require.NotNil(t, w.github.Invitation("lovelace"), "pay2 is kept")
			if accepts {
				w.github.Accept(t, "lovelace")
			}
			w.refund(t, "pay2")
			reconcile(t, r)
			require.Nil(t, w.github.Invitation("lovelace"))
			require.False(t, w.github.HasAccess("lovelace"))
		}
	}
}

// Another user may take the old name of a renamed account. A maintainer invites that user, too.
func TestARefundWithdrawsTheRecordedInvitationRatherThanOneOfTheSameName(t *testing.T) {
	t.Parallel()
	w, r := invited(t, "ada")
	w.github.Rename("ada", "lovelace")
	w.github.AddUser("ada")
	w.github.InviteByHand("ada")
	w.refund(t, "pay1")
	reconcile(t, r)
	w.requireStatus(t, "u1", "pay1", Withdrawn)
	require.Nil(t, w.github.Invitation("lovelace"))
	require.NotNil(t, w.github.Invitation("ada"))
}

func TestARetryUnderANewNameForgetsTheInvitationOfTheOldOne(t *testing.T) {
	t.Parallel()
	w, r := invited(t, "typo")
	r.RemoveOnRevoke = true
	w.github.Decline(t, "typo")
	w.clock.Advance(watchInterval)
	reconcile(t, r)
	w.requireStatus(t, "u1", "pay1", Declined)
	w.clock.Advance(-2 * watchInterval) // the name with the earliest time of the provider is the payment's
	w.buy(t, "u1", "pay1", "octo")
	w.clock.Advance(2 * watchInterval)
	w.github.AddCollaborator("octo")
	_, err := Retry(t.Context(), r.Store, "u1", w.clock.Now())
	require.NoError(t, err)
	reconcile(t, r)
	w.requireStatus(t, "u1", "pay1", Collaborator)
	require.Nil(t, w.invitation(t, "u1", "pay1").InvitationID)
	w.refund(t, "pay1")
	reconcile(t, r)
	require.True(t, w.github.HasAccess("octo"), "payfold has only ever invited another user")
}
