package invitations

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv"
)

func TestARefundWaitsForAnInvitationThatGitHubMakesAfterItsAnswerWasLost(t *testing.T) {
	t.Parallel()
	for _, limited := range []bool{false, true} { // a second attempt looks, too, before GitHub acts, and invites nobody
		w := setup(t)
		w.buy(t, "u1", "pay1", "octo")
		w.github.Script("octo", testenv.Reply{Drops: true}, testenv.Reply{Status: 429, Header: map[string]string{"Retry-After": "1"}})
		r := w.inviter(t)
		reconcile(t, r)
		if limited {
			w.clock.Advance(2 * time.Second)
			reconcile(t, r)
		}
		w.refund(t, "pay1")
		w.clock.Advance(2 * time.Second)
		reconcile(t, r)
		w.github.InviteByHand("octo") // now GitHub acts
		w.clock.Advance(lateAction)
		reconcile(t, r)
		w.requireStatus(t, "u1", "pay1", Withdrawn)
		require.Nil(t, w.github.Invitation("octo"))
	}
}

func TestAPurchaseWaitsForAWithdrawalOnWhichGitHubActsAfterItsAnswerWasLost(t *testing.T) {
	t.Parallel()
	w, r := invited(t, "octo")
	w.refund(t, "pay1")
	w.github.Script("", testenv.Reply{}, testenv.Reply{}, testenv.Reply{Drops: true}) // two reads, and the withdrawal
	reconcile(t, r)
	w.buy(t, "u1", "pay2", "octo")
	w.clock.Advance(2 * time.Second)
	reconcile(t, r)
	w.github.Decline(t, "octo") // now GitHub acts
	w.clock.Advance(lateAction)
	reconcile(t, r)
	w.requireStatus(t, "u1", "pay2", Invited)
	require.NotNil(t, w.github.Invitation("octo"))
	require.Equal(t, 2, w.github.Sent("octo"))
}
