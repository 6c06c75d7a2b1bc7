package invitations

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// beforeInvite calls a function before each invitation.
type beforeInvite struct {
	gitHub
	call func()
}

func (b beforeInvite) Invite(ctx context.Context, user string) (*invitation, error) {
	b.call()
	return b.gitHub.Invite(ctx, user)
}

func TestAProcessThatFrozeLeavesNoInvitationOfARefundedPurchase(t *testing.T) {
	t.Parallel()
	for _, accepts := range []bool{false, true} {
		w := setup(t)
		w.remove = true
		w.buy(t, "u1", "pay1", "octo")
		r, other := w.inviter(t), w.inviter(t)
		ask := r.gitHub
		r.gitHub = afterInvite{beforeInvite{ask, func() { // it freezes
			w.refund(t, "pay1")
			w.clock.Advance(attemptExpiry)
			reconcile(t, other)
			w.clock.Advance(lateAction)
			reconcile(t, other)
			w.requireStatus(t, "u1", "pay1", Withdrawn)
		}}, func() {
			if accepts {
				w.github.Accept(t, "octo")
			}
		}}
		reconcile(t, r)
		require.Equal(t, 1, w.github.Sent("octo"))
		w.clock.Advance(lateAction)
		reconcile(t, other)
		w.requireStatus(t, "u1", "pay1", Withdrawn)
		require.Nil(t, w.github.Invitation("octo"))
		require.False(t, w.github.HasAccess("octo"))
	}
}

func TestAProcessThatFrozeTakesNothingFromALaterPurchase(t *testing.T) {
	t.Parallel()
	for _, accepted := range []bool{false, true} { // before the refund
		w := setup(t)
		w.remove = true
		w.buy(t, "u1", "pay1", "octo")
		r, other := w.inviter(t), w.inviter(t)
		reconcile(t, r)
		if accepted {
			w.github.Accept(t, "octo")
		}
		w.refund(t, "pay1")
		frozen := false
		r.gitHub = afterLook{r.gitHub, func() {
			if frozen {
				return
			}
			frozen = true
			w.clock.Advance(attemptExpiry)
			reconcile(t, other)
			w.requireStatus(t, "u1", "pay1", Withdrawn)
			w.buy(t, "u1", "pay2", "octo")
			reconcile(t, other)
			w.github.Accept(t, "octo")
		}}
		reconcile(t, r)
		require.True(t, w.github.HasAccess("octo"))
	}
}

// A process freezes before it invites, and invites while another one withdraws.
func TestAWithdrawalThatLooksBeforeALateInvitationIsRepeated(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.buy(t, "u1", "pay1", "octo")
	r, other := w.inviter(t), w.inviter(t)
	frozen, thaws, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	r.gitHub = beforeInvite{r.gitHub, func() {
		close(frozen)
		<-thaws
	}}
	require.NoError(t, r.records.scan(t.Context(), nil))
	go func() {
		_, err := r.next(t.Context())
		ended <- err
	}()
	<-frozen
	w.refund(t, "pay1")
	looks := 0
	other.gitHub = afterLook{other.gitHub, func() {
		if looks++; looks == 1 {
			close(thaws)
			require.NoError(t, <-ended)
		}
	}}
	w.outlive(t, other)
	require.NotNil(t, w.github.Invitation("octo"))
	w.clock.Advance(lateAction)
	reconcile(t, other)
	w.requireStatus(t, "u1", "pay1", Withdrawn)
	require.Nil(t, w.github.Invitation("octo"))
}

// A process freezes before it takes an invitation back, and does so when another purchase has that invitation.
func TestALateWithdrawalIsMadeGoodToALaterPurchase(t *testing.T) {
	t.Parallel()
	w, r := invited(t, "octo")
	other := w.inviter(t)
	w.refund(t, "pay1")
	frozen := false
	r.gitHub = beforeCancel{r.gitHub, func() {
		if frozen {
			return
		}
		frozen = true
		w.buy(t, "u1", "pay2", "octo")
		w.outlive(t, other)
		w.requireStatus(t, "u1", "pay2", Invited)
	}}
	reconcile(t, r)
	require.Nil(t, w.github.Invitation("octo"))
	w.clock.Advance(lateAction)
	reconcile(t, other)
	w.requireStatus(t, "u1", "pay1", Withdrawn)
	w.requireStatus(t, "u1", "pay2", Invited)
	require.NotNil(t, w.github.Invitation("octo"))
}
