package invitations

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv"
)

// boughtAfterAnInvitationByHand has a purchase for bob, an hour after a maintainer invited him.
func boughtAfterAnInvitationByHand(t *testing.T) (*world, *Reconciler) {
	t.Helper()
	w := setup(t)
	w.remove = true
	w.github.InviteByHand("bob")
	w.clock.Advance(time.Hour)
	w.buy(t, "stranger", "pay1", "bob")
	return w, w.inviter(t)
}

func TestARefundTakesNothingThatSomebodyElseGaveBeforeThePurchase(t *testing.T) {
	t.Parallel()
	for _, accepts := range []bool{false, true} {
		for _, dies := range []bool{false, true} {
			t.Run(fmt.Sprintf("accepts %t, the first process dies %t", accepts, dies), func(t *testing.T) {
				t.Parallel()
				w, r := boughtAfterAnInvitationByHand(t)
				if dies {
					w.runAndDie(t, t, 0)
					w.clock.Advance(attemptExpiry)
				}
				for range 3 {
					reconcile(t, r)
					w.clock.Advance(watchInterval)
				}
				w.requireStatus(t, "stranger", "pay1", Invited)
				require.Equal(t, somebodyElseInvited, said(w.invitation(t, "stranger", "pay1").Reason))
				if accepts {
					w.github.Accept(t, "bob")
				}
				w.refund(t, "pay1")
				reconcile(t, r)
				w.requireStatus(t, "stranger", "pay1", Withdrawn)
				require.Equal(t, accepts, w.github.HasAccess("bob"))
				require.Equal(t, !accepts, w.github.Invitation("bob") != nil)
				require.Empty(t, w.github.Requests(http.MethodDelete))
				require.Empty(t, w.github.Requests(http.MethodPut))
			})
		}
	}
}

func TestAKeptPurchaseIsInvitedWhenTheInvitationOfSomebodyElseEnds(t *testing.T) {
	t.Parallel()
	for _, declines := range []bool{false, true} {
		t.Run(fmt.Sprint("declines ", declines), func(t *testing.T) {
			t.Parallel()
			w, r := boughtAfterAnInvitationByHand(t)
			reconcile(t, r)
			if declines {
				w.github.Decline(t, "bob")
				w.clock.Advance(watchInterval)
			} else {
				w.clock.Advance(expiresAfter)
			}
			reconcile(t, r)
			w.requireStatus(t, "stranger", "pay1", Invited)
			require.Len(t, w.github.Requests(http.MethodPut), 1)
			require.Zero(t, w.invitation(t, "stranger", "pay1").Repeats, "the first one of payfold")
			w.github.Accept(t, "bob")
			w.refund(t, "pay1")
			reconcile(t, r)
			require.False(t, w.github.HasAccess("bob"))
		})
	}
}

// The invitation that a purchase finds is older than it, and yet payfold's.
func TestASecondPurchaseLongAfterTheInvitationSharesIt(t *testing.T) {
	t.Parallel()
	for name, loses := range map[string]bool{"with its record": false, "whose record is lost": true} {
		for _, accepts := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, accepts %t", name, accepts), func(t *testing.T) {
				t.Parallel()
				w, r := invited(t, "bob")
				r.RemoveOnRevoke = true
				w.clock.Advance(time.Hour)
				w.buy(t, "u2", "pay2", "bob")
				if loses {
					w.exec(t, "delete from payfold.invitation_attempt")
					w.exec(t, "delete from payfold.invitation")
				} else {
					reconcile(t, r)
				}
				w.refund(t, "pay1")
				reconcile(t, r)
				w.requireStatus(t, "u1", "pay1", Withdrawn)
				w.requireStatus(t, "u2", "pay2", Invited)
				require.Equal(t, 1, w.github.Sent("bob"))
				if accepts {
					w.github.Accept(t, "bob")
				}
				w.refund(t, "pay2")
				reconcile(t, r)
				require.Nil(t, w.github.Invitation("bob"))
				require.False(t, w.github.HasAccess("bob"))
			})
		}
	}
}

func TestASecondPurchaseSharesARepeatedInvitationWhoseAnswerWasLost(t *testing.T) {
	t.Parallel()
	w, r := invited(t, "bob")
	w.clock.Advance(expiresAfter)
	w.github.Script("bob", testenv.Reply{Acts: true, Drops: true})
	reconcile(t, r)
	w.clock.Advance(time.Hour)
	w.buy(t, "u2", "pay2", "bob")
	for _, payment := range []string{"pay1", "pay2"} {
		w.refund(t, payment)
		reconcile(t, r)
	}
	require.Equal(t, 2, w.github.Sent("bob"))
	require.Nil(t, w.github.Invitation("bob"))
}

// What payfold sent before says nothing about what somebody else gives after it ended.
func TestARefundTakesNothingThatSomebodyElseGaveAfterPayfoldsInvitationEnded(t *testing.T) {
	t.Parallel()
	ends := map[string]func(t *testing.T, w *world){
		Withdrawn: func(t *testing.T, w *world) { w.refund(t, "pay1") },
		"withdrawn, its answer was lost": func(t *testing.T, w *world) {
			w.exec(t, "update payfold.invitation_attempt set outcome = 'unknown'")
			w.clock.Advance(lateAction)
			w.refund(t, "pay1")
		},
		Declined: func(t *testing.T, w *world) {
			w.github.Decline(t, "bob")
			w.clock.Advance(watchInterval)
		},
		Expired: func(t *testing.T, w *world) {
			w.exec(t, "update payfold.invitation set repeats = 1")
			w.clock.Advance(expiresAfter)
		},
	}
	for name, end := range ends {
		for _, accepts := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, accepts %t", name, accepts), func(t *testing.T) {
				t.Parallel()
				w := setup(t)
				w.remove = true
				w.buy(t, "stranger", "pay1", "bob")
				r := w.inviter(t)
				reconcile(t, r)
				end(t, w)
				reconcile(t, r)
				if name == Expired {
					w.requireStatus(t, "stranger", "pay1", Expired)
				}
				w.clock.Advance(time.Hour)
				w.github.InviteByHand("bob")
				w.clock.Advance(time.Hour)
				w.buy(t, "stranger", "pay2", "bob")
				reconcile(t, r)
				if accepts {
					w.github.Accept(t, "bob")
				}
				w.refund(t, "pay2")
				reconcile(t, r)
				if accepts { // an invitation that is not older than pay1 counts as payfold's
					w.refund(t, "pay1")
					reconcile(t, r)
				}
				require.Equal(t, accepts, w.github.HasAccess("bob"))
				require.Equal(t, !accepts, w.github.Invitation("bob") != nil)
			})
		}
	}
}

func TestTheCancellationOfAnInvitationLeavesItInTheQuota(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.buy(t, "u1", "pay1", "octo")
	w.github.Script("octo", testenv.Reply{Acts: true, Drops: true})
	r := w.inviter(t)
	reconcile(t, r)
	w.refund(t, "pay1")
	w.clock.Advance(lateAction)
	reconcile(t, r)
	require.Nil(t, w.github.Invitation("octo"))
	now, err := r.records.figures(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, now.used)
}
