//go:build cluster

package endtoend

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// sales are licences that are sold one after the other, each to a GitHub user of its own. About half of
// them are refunded soon.
type sales struct {
	kept, refunded []string // the GitHub users
	stop           context.CancelFunc
	ended          chan error
}

// sellLicences sells until sales.end is called.
func (f *fire) sellLicences(t *testing.T) *sales {
	t.Helper()
	stopping, stop := context.WithCancel(t.Context())
	s := &sales{stop: stop, ended: make(chan error, 1)}
	go func() {
		var err error
		for err == nil && stopping.Err() == nil {
			f.buyers++
			err = s.sell(t.Context(), f.world, fmt.Sprintf("buyer-%d", f.buyers))
			time.Sleep(clusterPace)
		}
		s.ended <- err
	}()
	return s
}

// sell sells one licence, and may refund one of the newest.
func (s *sales) sell(ctx context.Context, w *world, buyer string) error {
	if _, err := w.provider.DeliverUntilAccepted(ctx, ofCustomer(buyer, licence("evt_licence_"+buyer, "pay_"+buyer, "u_"+buyer, buyer))); err != nil {
		return err
	}
	s.kept = append(s.kept, buyer)
	if rand.IntN(2) == 0 {
		return nil
	}
	const newest = 10
	i := len(s.kept) - 1 - rand.IntN(min(newest, len(s.kept)))
	back := s.kept[i]
	s.kept, s.refunded = append(s.kept[:i], s.kept[i+1:]...), append(s.refunded, back)
	_, err := w.provider.DeliverUntilAccepted(ctx, ofCustomer(back, refund("evt_refund_"+back, "pay_"+back)))
	return err
}

// ofCustomer puts the customer into a body: the events of one customer are applied in their order.
func ofCustomer(customer, body string) string {
	return strings.Replace(body, `"object":{`, fmt.Sprintf(`"object":{"customer":%q,`, customer), 1)
}

func (s *sales) end(t *testing.T) {
	t.Helper()
	s.stop()
	require.NoError(t, <-s.ended)
}

// requireInvited: every buyer who has a licence has one invitation, no buyer whose licence was refunded has
// one, and nobody else was invited. Then the buyers accept.
func (f *fire) requireInvited(t *testing.T, s *sales) {
	t.Helper()
	const collaborators = "/repos/" + testenv.GitHubRepository + "/collaborators/"
	f.awaitInvitations(t, s.kept, "p.reversed_at is null and i.status = 'invited'")
	f.awaitInvitations(t, s.refunded, "p.reversed_at is not null and coalesce(i.status, 'withdrawn') = 'withdrawn'")
	asked, again := map[string]int{}, 0
	for _, one := range f.GitHub.Requests(http.MethodPut) {
		require.Equal(t, "pull", one.Permission)
		require.Regexp(t, "^"+collaborators+`buyer-\d+$`, one.Path)
		asked[one.Path]++
	}
	for i, buyer := range append(append([]string{}, s.kept...), s.refunded...) {
		isKept, path := i < len(s.kept), collaborators+buyer
		wait.Until(t, func() bool { return (f.GitHub.Invitation(buyer) != nil) == isKept }, "%s: kept %t, asked %d times", buyer, isKept, asked[path])
		if isKept {
			require.Equal(t, 1, f.GitHub.Sent(buyer), buyer)
			f.GitHub.Accept(t, buyer)
		}
		again += max(0, asked[path]-1)
	}
	t.Logf("%d licences are kept, %d refunded; %d requests repeated an invitation; %s", len(s.kept), len(s.refunded), again,
		mustQuery[string](t, f.database, `select string_agg(format('%s %s (%s)', n, status, reason), ', ') from (
			select count(*) as n, status, reason from payfold.invitation where github_username = any($1) group by status, reason) as found`,
			append(append([]string{}, s.kept...), s.refunded...)))
}

// awaitInvitations waits until the purchases p and the invitations i of all these buyers match.
func (f *fire) awaitInvitations(t *testing.T, buyers []string, state string) {
	t.Helper()
	wait.Until(t, func() bool {
		n, err := query[int](t, f.database, `select count(*) from portal.payment p left join payfold.invitation i using (user_id, provider_payment_id)
			where p.github_username = any($1) and `+state, buyers)
		return err == nil && n == len(buyers)
	}, "not all of %v: %s", buyers, state)
}
