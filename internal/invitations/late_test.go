package invitations

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv"
)

func TestARefundWaitsForAnInvitationThatGitHubMakesAfterItsAnswerWasLost(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.buy(t, "u1", "pay1", "octo")
	w.github.Script("octo", testenv.Reply{Drops: true})
	r := w.inviter(t)
	reconcile(t, r)
	w.refund(t, "pay1")
	w.clock.Advance(2 * time.Second)
	reconcile(t, r)
	w.github.InviteByHand("octo") // now GitHub acts
	w.clock.Advance(lateAction)
	reconcile(t, r)
	w.requireStatus(t, "u1", "pay1", Withdrawn)
	require.Nil(t, w.github.Invitation("octo"))
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

// If the next attempt invited at once, GitHub could act on the first request after the second invitation was taken back.
func TestTheNextInvitationWaitsForARequestWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	for _, dies := range []bool{true, false} { // the process, while it invites
		w := setup(t)
		w.remove = true
		w.buy(t, "u1", "pay1", "octo")
		r := w.inviter(t)
		if dies {
			require.False(t, w.runAndDie(t, t, 2))
		} else {
			w.github.Script("octo", testenv.Reply{Drops: true})
			reconcile(t, r)
		}
		w.clock.Advance(attemptExpiry)
		reconcile(t, r)
		require.Zero(t, w.github.Sent("octo"))
		w.github.InviteByHand("octo") // now GitHub acts
		w.github.Accept(t, "octo")
		w.clock.Advance(lateAction)
		reconcile(t, r)
		w.requireStatus(t, "u1", "pay1", Collaborator)
		w.refund(t, "pay1")
		reconcile(t, r)
		w.requireStatus(t, "u1", "pay1", Withdrawn)
		require.False(t, w.github.HasAccess("octo"))
		require.Equal(t, 1, w.github.Sent("octo"))
	}
}
