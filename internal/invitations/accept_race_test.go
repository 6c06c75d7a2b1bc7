package invitations

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// A buyer may accept between two requests of payfold.

func TestARefundTakesTheAccessOfABuyerWhoAcceptsDuringTheWithdrawal(t *testing.T) {
	t.Parallel()
	for _, remove := range []bool{true, false} {
		w, r := invited(t, "octo")
		r.RemoveOnRevoke = remove
		r.gitHub = beforeCancel{r.gitHub, func() { w.github.Accept(t, "octo") }}
		w.refund(t, "pay1")
		reconcile(t, r)
		w.requireStatus(t, "u1", "pay1", Withdrawn)
		require.Equal(t, !remove, w.github.HasAccess("octo"))
		reason := map[bool]string{true: "the access was taken back", false: "has accepted, and keeps the access"}[remove]
		require.Contains(t, said(w.invitation(t, "u1", "pay1").Reason), reason)
	}
}

func TestABuyerWhoAcceptsWhilePayfoldLooksHasAccess(t *testing.T) {
	t.Parallel()
	w, r := invited(t, "octo")
	w.clock.Advance(watchInterval)
	looks := 0
	api := *r.GitHub
	api.http = &http.Client{Transport: roundTrip(func(request *http.Request) (*http.Response, error) {
		if looks++; looks == 2 { // between its two requests
			w.github.Accept(t, "octo")
		}
		return r.GitHub.http.Transport.RoundTrip(request)
	})}
	r.gitHub = &api
	reconcile(t, r)
	require.Equal(t, 2, looks)
	w.requireStatus(t, "u1", "pay1", Collaborator)
}

// roundTrip is a transport that tests interpose.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }
