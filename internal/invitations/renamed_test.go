package invitations

import (
	"testing"

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
