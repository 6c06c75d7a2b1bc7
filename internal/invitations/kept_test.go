package invitations

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv"
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
				w, r := invited(t, "octo")
				r.RemoveOnRevoke = true
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
		w.exec(t, "update portal.payment_facts set reversed_at = now()")
		reconcile(t, r)
		w.requireStatus(t, "u1", "pay1", Withdrawn)
		w.exec(t, "update portal.payment_facts set reversed_at = null")
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

func TestAPurchaseThatIsKeptAfterAllIsNotWithdrawnBeforeTheNextScan(t *testing.T) {
	t.Parallel()
	w, r := invited(t, "octo")
	w.exec(t, "update portal.payment_facts set reversed_at = now()")
	require.NoError(t, r.records.scan(t.Context(), nil))
	w.exec(t, "update portal.payment_facts set reversed_at = null")
	worked, err := r.next(t.Context())
	require.NoError(t, err)
	require.False(t, worked)
}

func TestAPurchaseThatIsKeptAfterAllKeepsTheGitHubUserWhomItInvited(t *testing.T) {
	t.Parallel()
	w, r := invited(t, "octo")
	w.github.Accept(t, "octo")
	w.exec(t, "update portal.payment_facts set reversed_at = now()")
	reconcile(t, r)
	w.requireStatus(t, "u1", "pay1", Withdrawn)
	w.exec(t, "update portal.payment_facts set reversed_at = null, github_username = 'hubot'")
	reconcile(t, r)
	w.requireStatus(t, "u1", "pay1", Collaborator)
	require.Zero(t, w.github.Sent("hubot"))
}

// A withdrawal that takes nothing back leaves the access that payfold gave. A later one may take it.
func TestAPurchaseThatIsKeptAfterAllStillKnowsWhoGaveTheAccess(t *testing.T) {
	t.Parallel()
	w, r := invited(t, "octo")
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
	for _, answers := range []bool{true, false} {
		w := setup(t)
		w.buy(t, "u1", "pay1", "octo")
		r, other := w.inviter(t), w.inviter(t)
		reconcile(t, r)
		w.deliver(t, w.partialRefund("pay1"))
		ask := r.gitHub
		r.gitHub = beforeCancel{ask, func() {
			w.deliver(t, w.paid("u1", "pay1", "octo"))
			reconcile(t, other)
			if !answers { // GitHub acts, and its answer to the cancellation is lost
				require.NoError(t, ask.Cancel(t.Context(), w.github.Invitation("octo").ID))
				w.github.Script("", testenv.Reply{Drops: true})
			}
		}}
		reconcile(t, r)
		w.clock.Advance(lateAction) // GitHub could still act on the cancellation
		reconcile(t, r)
		w.requireStatus(t, "u1", "pay1", Invited)
		require.NotNil(t, w.github.Invitation("octo"))
	}
}

// Two purchases of one GitHub user were refunded. The invitation is withdrawn for the first one, and the second one is kept
// after all before the next scan.
func TestAPurchaseThatIsKeptDuringTheWithdrawalOfAnotherOneIsInvitedAfterIt(t *testing.T) {
	t.Parallel()
	for _, ends := range []string{"answered", "answer lost", "look afterwards lost", "process died"} {
		t.Run(ends, func(t *testing.T) {
			t.Parallel()
			w, r := invited(t, "octo")
			w.buy(t, "u2", "pay2", "octo")
			reconcile(t, r)
			w.requireStatus(t, "u2", "pay2", Invited)
			w.refund(t, "pay1")
			require.NoError(t, r.records.scan(t.Context(), nil))
			w.exec(t, "update portal.payment_facts set reversed_at = now() where provider_payment_id = 'pay2'")
			ask := r.gitHub
			r.gitHub = beforeCancel{ask, func() {
				w.exec(t, "update portal.payment_facts set reversed_at = null where provider_payment_id = 'pay2'")
				switch ends {
				case "answer lost": // GitHub acts
					require.NoError(t, ask.Cancel(t.Context(), w.github.Invitation("octo").ID))
					w.github.Script("", testenv.Reply{Drops: true})
				case "look afterwards lost":
					w.github.Script("", testenv.Reply{}, testenv.Reply{Drops: true})
				}
			}}
			if ends == "process died" {
				attempt, err := r.records.reserve(t.Context(), w.perDay)
				require.NoError(t, err)
				r.perform(t.Context(), attempt)
			} else {
				_, err := r.next(t.Context())
				require.NoError(t, err)
			}
			require.Nil(t, w.github.Invitation("octo"))
			r.gitHub = ask
			w.outlive(t, r)
			w.requireStatus(t, "u1", "pay1", Withdrawn)
			w.requireStatus(t, "u2", "pay2", Invited)
			require.NotNil(t, w.github.Invitation("octo"))
		})
	}
}

// The process took back what the buyer had and died before it recorded that.
func TestAPurchaseThatIsKeptAfterAllIsInvitedWhereItsWithdrawalWasNotRecorded(t *testing.T) {
	t.Parallel()
	for _, accepts := range []bool{false, true} {
		w := setup(t)
		w.remove = true
		w.buy(t, "u1", "pay1", "octo")
		reconcile(t, w.inviter(t))
		if accepts {
			w.github.Accept(t, "octo")
			w.clock.Advance(watchInterval)
			reconcile(t, w.inviter(t))
		}
		w.deliver(t, w.partialRefund("pay1"))
		require.False(t, w.runAndDie(t, t, 3), "it looks, takes back and dies")
		require.Nil(t, w.github.Invitation("octo"))
		require.False(t, w.github.HasAccess("octo"))
		w.deliver(t, w.paid("u1", "pay1", "octo"))
		w.outlive(t, w.inviter(t))
		w.requireStatus(t, "u1", "pay1", Invited)
		require.NotNil(t, w.github.Invitation("octo"))
	}
}

// The refund of another purchase for the same GitHub user took the access, while this one counted as refunded.
func TestAPurchaseThatIsKeptAfterAllIsInvitedWhereAnotherOnesRefundTookTheAccess(t *testing.T) {
	t.Parallel()
	for _, seen := range []bool{true, false} {
		t.Run(fmt.Sprint("its refund was seen: ", seen), func(t *testing.T) {
			t.Parallel()
			for _, accepted := range []bool{true, false} {
				w := setup(t)
				w.remove = true
				w.buy(t, "u1", "pay1", "octo")
				w.buy(t, "u2", "pay2", "octo")
				r := w.inviter(t)
				reconcile(t, r)
				if accepted {
					w.github.Accept(t, "octo")
				}
				w.clock.Advance(watchInterval)
				reconcile(t, r)
				w.refund(t, "pay1")
				if seen {
					w.deliver(t, w.partialRefund("pay2"))
				}
				require.NoError(t, r.records.scan(t.Context(), nil))
				if !seen {
					w.deliver(t, w.partialRefund("pay2"))
				}
				worked, err := r.next(t.Context())
				require.NoError(t, err)
				require.True(t, worked)
				w.requireStatus(t, "u1", "pay1", Withdrawn)
				require.False(t, w.github.HasAccess("octo"))
				require.Nil(t, w.github.Invitation("octo"))
				w.deliver(t, w.paid("u2", "pay2", "octo"))
				reconcile(t, r)
				w.requireStatus(t, "u2", "pay2", Invited)
				require.NotNil(t, w.github.Invitation("octo"))
			}
		})
	}
}
