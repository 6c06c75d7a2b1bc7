package invitations

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A clock was a year ahead, and was set right.
func TestAClockThatWasAheadHoldsUpNoInvitation(t *testing.T) {
	t.Parallel()
	const ahead = 365 * 24 * time.Hour
	w := setup(t)
	w.perDay = 2
	w.clock.Advance(ahead)
	w.buy(t, "u1", "pay1", "octo")
	r := w.inviter(t)
	reconcile(t, r)
	w.requireStatus(t, "u1", "pay1", Invited) // counts for the quota
	w.buy(t, "u2", "pay2", "hubot")
	require.NoError(t, r.records.scan(t.Context(), nil))
	reserved, err := r.records.reserve(t.Context(), r.PerDay)
	require.NoError(t, err)
	require.NotNil(t, reserved) // its process dies
	require.NoError(t, r.records.pause(t.Context(), Pause{Repository: r.Repository, Until: w.clock.Now().Add(time.Hour), Cause: PauseLimit}))

	w.clock.Advance(-ahead)
	w.buy(t, "u3", "pay3", "gopher")
	reconcile(t, w.inviter(t))
	w.requireStatus(t, "u3", "pay3", Invited)
	w.requireStatus(t, "u2", "pay2", Invited)
	require.Len(t, w.github.Requests(http.MethodPut), 3)

	pauses, err := Pauses(t.Context(), w.tables.Pool(), w.clock.Now())
	require.NoError(t, err)
	require.Empty(t, pauses)
}

func TestAPauseOfAClockThatWasAheadDoesNotBeginLater(t *testing.T) {
	t.Parallel()
	const ahead = 10 * 24 * time.Hour
	w := setup(t)
	r := w.inviter(t)
	require.NoError(t, r.records.pause(t.Context(), Pause{Repository: r.Repository, Until: w.clock.Now().Add(ahead), Cause: PauseLimit}))
	reconcile(t, r)
	w.clock.Advance(ahead - time.Hour)
	w.buy(t, "u1", "pay1", "octo")
	reconcile(t, r)
	w.requireStatus(t, "u1", "pay1", Invited)
}
