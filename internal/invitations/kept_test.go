package invitations

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// partialRefund is a refund of a part. It takes everything back until it is known what was paid.
func (w *world) partialRefund(payment string) string {
	return w.event("refund.created", `"provider_payment_id":"`+payment+`","amount":10`)
}

// paid is a second event of a purchase, with what was paid.
func (w *world) paid(user, payment, gitHubUser string) string {
	return w.event("checkout.completed", `"provider_payment_id":"`+payment+`","amount":1000,
		"metadata":{"kind":"pro","user_id":"`+user+`","github_username":"`+gitHubUser+`"}`)
}

// The buyer of a purchase that is kept after all is invited, whether it was recorded before the refund or not.
func TestAPurchaseThatIsKeptAfterAllIsInvited(t *testing.T) {
	t.Parallel()
	for _, recorded := range []bool{false, true} {
		w := setup(t)
		w.perDay = 0
		w.deliver(t, w.purchase("u1", "pay1", "octo"))
		if recorded {
			reconcile(t, w.inviter(t))
		}
		w.deliver(t, w.partialRefund("pay1"))
		reconcile(t, w.inviter(t))
		w.requireStatus(t, "u1", "pay1", Withdrawn)
		w.deliver(t, w.paid("u1", "pay1", "octo"))
		w.perDay = 10
		reconcile(t, w.inviter(t))
		w.requireStatus(t, "u1", "pay1", Invited)
	}
}

func TestAccessDoesNotDependOnWhetherTheAmountOrThePartialRefundComesFirst(t *testing.T) {
	t.Parallel()
	for name, refundFirst := range map[string]bool{"amount first": false, "partial refund first": true} {
		for _, accepts := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, accepts %t", name, accepts), func(t *testing.T) {
				t.Parallel()
				w := setup(t)
				w.remove = true
				r := w.inviter(t)
				w.buy(t, "u1", "pay1", "octo")
				reconcile(t, r)
				if accepts {
					w.github.Accept(t, "octo")
				}
				bodies := []string{w.paid("u1", "pay1", "octo"), w.partialRefund("pay1")}
				if refundFirst {
					slices.Reverse(bodies)
				}
				for _, body := range bodies {
					w.clock.Advance(time.Minute)
					w.deliver(t, body)
					reconcile(t, r)
				}
				require.Contains(t, []string{Invited, Collaborator}, w.invitation(t, "u1", "pay1").Status)
				require.True(t, w.github.Invitation("octo") != nil || w.github.HasAccess("octo"))
				w.refund(t, "pay1")
				reconcile(t, r)
				require.Nil(t, w.github.Invitation("octo"))
				require.False(t, w.github.HasAccess("octo"))
			})
		}
	}
}

func TestAPurchaseThatIsRefundedAndKeptInTurnsStaysWithinTheQuota(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.perDay = 2
	w.buy(t, "u1", "pay1", "octo")
	r := w.inviter(t)
	reconcile(t, r)
	for range 3 {
		w.exec(t, "update portal.payment set reversed_at = now()")
		reconcile(t, r)
		w.requireStatus(t, "u1", "pay1", Withdrawn)
		w.exec(t, "update portal.payment set reversed_at = null")
		reconcile(t, r)
	}
	w.requireStatus(t, "u1", "pay1", Pending)
	require.Equal(t, 2, w.github.Sent("octo"))
	w.clock.Advance(24 * time.Hour)
	reconcile(t, r)
	w.requireStatus(t, "u1", "pay1", Invited)
	require.Equal(t, 3, w.github.Sent("octo"))
	require.Zero(t, w.github.Repeated("octo"))
}

// A withdrawal that takes nothing back leaves the access that payfold gave. A later one may take it.
func TestAPurchaseThatIsKeptAfterAllStillKnowsWhoGaveTheAccess(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.buy(t, "u1", "pay1", "octo")
	r := w.inviter(t)
	reconcile(t, r)
	w.github.Accept(t, "octo")
	w.deliver(t, w.partialRefund("pay1"))
	reconcile(t, r)
	w.requireStatus(t, "u1", "pay1", Withdrawn)
	w.deliver(t, w.paid("u1", "pay1", "octo"))
	reconcile(t, r)
	w.requireStatus(t, "u1", "pay1", Collaborator)
	r.RemoveOnRevoke = true
	w.refund(t, "pay1")
	reconcile(t, r)
	require.False(t, w.github.HasAccess("octo"))
	require.Len(t, w.github.Requests(http.MethodPut), 1)
}

func TestAPurchaseThatIsKeptAfterAllDuringItsWithdrawalIsInvitedAfterIt(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.buy(t, "u1", "pay1", "octo")
	r, other := w.inviter(t), w.inviter(t)
	reconcile(t, r)
	w.deliver(t, w.partialRefund("pay1"))
	r.gitHub = beforeCancel{r.gitHub, func() {
		w.deliver(t, w.paid("u1", "pay1", "octo"))
		reconcile(t, other)
	}}
	reconcile(t, r)
	w.requireStatus(t, "u1", "pay1", Withdrawn)
	reconcile(t, r)
	w.requireStatus(t, "u1", "pay1", Invited)
	require.NotNil(t, w.github.Invitation("octo"))
}
