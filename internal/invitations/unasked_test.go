package invitations

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// A process that died before it asked GitHub to invite has given nothing.
func TestARefundKeepsTheAccessByHandOfABuyerWhomADeadProcessNeverInvited(t *testing.T) {
	t.Parallel()
	for steps := range 2 { // before and after it looks
		w := setup(t)
		w.remove = true
		w.buy(t, "u1", "pay1", "octo")
		require.False(t, w.runAndDie(t, t, steps))
		w.github.AddCollaborator("octo")
		w.refund(t, "pay1")
		w.outlive(t, w.inviter(t))
		w.requireStatus(t, "u1", "pay1", Withdrawn)
		require.True(t, w.github.HasAccess("octo"))
	}
}

func TestARefundTakesTheAccessOfABuyerWhomADeadProcessMayHaveInvited(t *testing.T) {
	t.Parallel()
	for steps := 2; steps < 4; steps++ { // before and after GitHub invites
		w := setup(t)
		w.remove = true
		w.buy(t, "u1", "pay1", "octo")
		require.False(t, w.runAndDie(t, t, steps))
		w.github.AddCollaborator("octo")
		w.refund(t, "pay1")
		w.outlive(t, w.inviter(t))
		w.requireStatus(t, "u1", "pay1", Withdrawn)
		require.False(t, w.github.HasAccess("octo"))
	}
}

func TestAProcessWhoseAttemptHasExpiredDoesNotAsk(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.buy(t, "u1", "pay1", "octo")
	r, other := w.inviter(t), w.inviter(t)
	r.gitHub = afterLook{r.gitHub, func() { // it freezes
		w.refund(t, "pay1")
		w.clock.Advance(attemptExpiry)
		reconcile(t, other)
		w.requireStatus(t, "u1", "pay1", Withdrawn)
	}}
	reconcile(t, r)
	require.Zero(t, w.github.Sent("octo"))
	w.requireStatus(t, "u1", "pay1", Withdrawn)
}

// afterLook calls a function after each look.
type afterLook struct {
	gitHub
	call func()
}

func (a afterLook) Look(ctx context.Context, user string, recorded *int64) (access, error) {
	known, err := a.gitHub.Look(ctx, user, recorded)
	a.call()
	return known, err
}
