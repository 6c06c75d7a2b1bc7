package invitations

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv"
)

// The credentials may have lacked the right to invite.
func TestARestartTriesARefusedInvitationAtOnce(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.buy(t, "u1", "pay1", "octo")
	w.github.Script("octo", testenv.Reply{Status: 403})
	reconcile(t, w.inviter(t))
	running(t, w.inviter(t))
	w.awaitStatus(t, "u1", Invited)
}

// GitHub may refuse to invite one user although it accepts the credentials.
func TestARefusedInvitationOfOneUserHoldsUpTheOthersOnlyBriefly(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.buy(t, "u1", "pay1", "octo")
	w.clock.Advance(time.Second)
	w.buy(t, "u2", "pay2", "hubot")
	for range 100 {
		w.github.Script("octo", testenv.Reply{Status: 403, Body: `{"message":"Forbidden"}`})
	}
	r := w.inviter(t)
	var log bytes.Buffer
	r.Logger = slog.New(slog.NewTextHandler(&log, nil))
	reconcile(t, r)
	require.NotContains(t, log.String(), "no invitation is sent")
	w.clock.Advance(2 * time.Minute)
	reconcile(t, r)
	w.requireStatus(t, "u2", "pay2", Invited)
	for hour := range 24 {
		payment := fmt.Sprint("pay_", hour)
		w.buy(t, "u3", payment, fmt.Sprint("mona", hour))
		reconcile(t, r)
		w.clock.Advance(2 * time.Minute)
		reconcile(t, r)
		w.requireStatus(t, "u3", payment, Invited)
		w.clock.Advance(58 * time.Minute)
	}
	require.Less(t, len(w.github.Requests(http.MethodPut)), 1+24+35, "it is tried about once an hour")
	w.github.ClearScripts()
	w.clock.Advance(2 * time.Hour)
	reconcile(t, r)
	w.requireStatus(t, "u1", "pay1", Invited)
}

// refusesWithdrawals is a GitHub that refuses to end the access of one user, and to cancel any invitation.
type refusesWithdrawals struct {
	gitHub
	of string
}

func (g refusesWithdrawals) Cancel(context.Context, int64) error {
	return &problem{kind: denied, message: "403 Forbidden"}
}

func (g refusesWithdrawals) Remove(ctx context.Context, user string) error {
	if user == g.of {
		return &problem{kind: denied, message: "403 Forbidden"}
	}
	return g.gitHub.Remove(ctx, user)
}

func TestAnExpiredInvitationThatGitHubKeepsHoldsUpTheOthersOnlyBriefly(t *testing.T) {
	t.Parallel()
	w, r := invited(t, "octo")
	w.clock.Advance(expiresAfter)
	r.gitHub = refusesWithdrawals{r.gitHub, "octo"}
	reconcile(t, r)
	w.buy(t, "u2", "pay2", "hubot")
	for range 4 {
		w.clock.Advance(2 * time.Minute)
		reconcile(t, r)
	}
	w.requireStatus(t, "u2", "pay2", Invited)
}

// withdrawalIsRefused refunds a purchase whose buyer has access, which GitHub refuses to end.
func withdrawalIsRefused(t *testing.T) (*world, *Reconciler) {
	t.Helper()
	w := setup(t)
	w.remove = true
	w.buy(t, "u1", "pay1", "octo")
	r := w.inviter(t)
	reconcile(t, r)
	w.github.Accept(t, "octo")
	r.gitHub = refusesWithdrawals{r.gitHub, "octo"}
	w.refund(t, "pay1")
	return w, r
}

func TestARefusedWithdrawalOfOneUserHoldsUpTheOthersOnlyBriefly(t *testing.T) {
	t.Parallel()
	w, r := withdrawalIsRefused(t)
	for hour := range 24 {
		reconcile(t, r)
		payment := fmt.Sprint("pay_", hour)
		w.buy(t, "u3", payment, fmt.Sprint("mona", hour))
		for range 6 {
			w.clock.Advance(5 * time.Minute)
			reconcile(t, r)
		}
		w.requireStatus(t, "u3", payment, Invited)
		w.clock.Advance(30 * time.Minute)
	}
}

// The credentials may have lacked the right to take access back.
func TestARestartTriesARefusedWithdrawalAtOnce(t *testing.T) {
	t.Parallel()
	w, r := withdrawalIsRefused(t)
	reconcile(t, r)
	require.True(t, w.github.HasAccess("octo"))
	running(t, w.inviter(t))
	w.awaitStatus(t, "u1", Withdrawn)
	require.False(t, w.github.HasAccess("octo"))
}
