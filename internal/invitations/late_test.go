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
