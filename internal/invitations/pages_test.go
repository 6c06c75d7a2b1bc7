package invitations

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// onSecondPage lets a function run before each request for the second page of the invitations.
func onSecondPage(r *Reconciler, call func()) {
	api := *r.GitHub
	api.http = &http.Client{Transport: roundTrip(func(request *http.Request) (*http.Response, error) {
		if request.URL.Query().Get("page") == "2" {
			call()
		}
		return r.GitHub.http.Transport.RoundTrip(request)
	})}
	r.gitHub = &api
}

// What moves to a page that was read already is not missed.
func TestAnInvitationThatMovesToAnotherPageIsFound(t *testing.T) {
	t.Parallel()
	w := setup(t)
	for i := range 100 {
		w.github.InviteByHand(fmt.Sprint("other", i))
	}
	w.buy(t, "u1", "pay1", "octo")
	r := w.inviter(t)
	reconcile(t, r)
	w.github.InviteByHand("last")
	w.clock.Advance(watchInterval)
	moved := false
	onSecondPage(r, func() {
		if !moved {
			moved = true
			w.github.Decline(t, "other0")
		}
	})
	reconcile(t, r)
	require.True(t, moved)
	w.requireStatus(t, "u1", "pay1", Invited)
}

func TestAListOfInvitationsThatKeepsChangingIsReadAgainLater(t *testing.T) {
	t.Parallel()
	w := setup(t)
	for i := range 101 {
		w.github.InviteByHand(fmt.Sprint("other", i))
	}
	w.buy(t, "u1", "pay1", "octo")
	r := w.inviter(t)
	changes, changing := 0, true
	onSecondPage(r, func() {
		if changing {
			w.github.Decline(t, fmt.Sprint("other", changes))
			changes++
			w.github.InviteByHand(fmt.Sprint("other", 100+changes))
		}
	})
	reconcile(t, r)
	require.Equal(t, maxReads, changes)
	w.requireStatus(t, "u1", "pay1", Pending)
	require.Contains(t, said(w.invitation(t, "u1", "pay1").Reason), "changed")
	changing = false
	w.clock.Advance(afterFault.max)
	reconcile(t, r)
	w.requireStatus(t, "u1", "pay1", Invited)
}

func TestAListOfInvitationsThatNeverEndsIsReadAgainLater(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.buy(t, "u1", "pay1", "octo")
	r := w.inviter(t)
	pages, endless := 0, true
	api := *r.GitHub
	api.http = &http.Client{Transport: roundTrip(func(request *http.Request) (*http.Response, error) {
		answer, err := r.GitHub.http.Transport.RoundTrip(request)
		if endless && err == nil && request.URL.Query().Has("page") {
			pages++
			answer.Header.Set("Link", fmt.Sprintf(`<https://api.github.com/next?page=%d>; rel="next"`, pages+1))
		}
		return answer, err
	})}
	r.gitHub = &api
	reconcile(t, r)
	require.Equal(t, maxPages, pages)
	w.requireStatus(t, "u1", "pay1", Pending)
	require.Contains(t, said(w.invitation(t, "u1", "pay1").Reason), "more than 100 pages")
	require.Zero(t, w.github.Sent("octo"))
	endless = false
	w.clock.Advance(afterFault.max)
	reconcile(t, r)
	w.requireStatus(t, "u1", "pay1", Invited)
}
