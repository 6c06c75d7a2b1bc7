package invitations

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// GitHub lists an open invitation under the present name of its user. The old name may be another collaborator's now.
func TestARefundTakesNothingFromTheNextOwnerOfTheName(t *testing.T) {
	t.Parallel()
	for _, accepts := range []bool{false, true} { // during the withdrawal
		for _, nextHasAccess := range []bool{false, true} {
			w, r := invited(t, "ada")
			r.RemoveOnRevoke = true
			w.github.Rename("ada", "lovelace")
			w.github.AddUser("ada")
			if nextHasAccess {
				w.github.AddCollaborator("ada")
			}
			w.clock.Advance(watchInterval)
			reconcile(t, r)
			w.requireStatus(t, "u1", "pay1", Invited)
			if accepts {
				r.gitHub = beforeCancel{r.gitHub, func() { w.github.Accept(t, "lovelace") }}
			}
			w.refund(t, "pay1")
			reconcile(t, r)
			w.requireStatus(t, "u1", "pay1", Withdrawn)
			require.Nil(t, w.github.Invitation("lovelace"))
			require.False(t, w.github.HasAccess("lovelace"))
			require.Equal(t, nextHasAccess, w.github.HasAccess("ada"))
		}
	}
}

// A schedule has found it: the id changed while an attempt was under way, so the purchase had two invitations, of which one
// was never sent nor withdrawn.
func TestAPaymentThatGetsAnotherIDDuringAnAttemptHasOneInvitation(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.buy(t, "u1", "pay1", "octo")
	r, other := w.inviter(t), w.inviter(t)
	changed := false
	r.gitHub = beforeInvite{r.gitHub, func() {
		if !changed {
			w.exec(t, "update portal.payment_facts set provider_payment_id = 'pay2', transaction_id = null, order_id = null")
			require.NoError(t, other.records.scan(t.Context(), nil))
		}
		changed = true
	}}
	reconcile(t, r)
	require.True(t, changed)
	reconcile(t, other)
	w.requireStatus(t, "u1", "pay2", Invited)
	w.exec(t, "update portal.payment_facts set reversed_at = $1", w.clock.Now())
	w.clock.Advance(lateAction)
	reconcile(t, other)
	w.requireStatus(t, "u1", "pay2", Withdrawn)
	require.Nil(t, w.github.Invitation("octo"))
}

// A withdrawal under the new name finds nothing. That does not end the invitation that is open under the old one.
func TestAWithdrawalThatFindsNothingLeavesTheInvitationOfARenamedAccountToItsOwn(t *testing.T) {
	t.Parallel()
	w, r := invited(t, "octo")
	w.clock.Advance(10 * time.Minute)
	w.buy(t, "u2", "pay2", "octo")
	reconcile(t, r)
	w.refund(t, "pay1")
	reconcile(t, r)
	w.github.Rename("octo", "octo2")
	w.clock.Advance(time.Minute)
	w.buy(t, "a3", "pay3", "octo")
	w.refund(t, "pay3")
	w.refund(t, "pay2")
	reconcile(t, r)
	w.requireStatus(t, "u2", "pay2", Withdrawn)
	require.Nil(t, w.github.Invitation("octo2"))
}
