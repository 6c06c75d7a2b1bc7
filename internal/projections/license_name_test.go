package projections

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// In the older shape only the checkout of a subscription has metadata; its payments have none.
func TestPaymentsGetTheGitHubUserOfTheCheckoutThatStartedTheLicence(t *testing.T) {
	t.Parallel()
	started := at(1, checkout("e1", `"order":{"id":"o1"},"subscription":{"id":"s1"},"metadata":{"kind":"pro","user_id":"u1","github":"octo"}`))
	charged := at(2, paid("e2", `"id":"s1","last_transaction_id":"t1"`))
	renewed := at(3, paid("e3", `"id":"s1","last_transaction_id":"t2"`))
	for _, log := range [][]string{{started, charged, renewed}, {charged, started, renewed}, {renewed, charged, started}} {
		s := fold(t, log...)
		for _, id := range []string{"t1", "t2"} {
			payment, _ := s.Payments.Get(id)
			require.Equal(t, KindPro, payment.Kind)
			require.Equal(t, "octo", payment.GitHubUsername, id)
		}
		license, _ := s.Licenses.Get("u1")
		require.Equal(t, "active", license.Status)
		require.Equal(t, "octo", license.GitHubUsername)
	}
}

func TestTwoRowsOfOnePaymentKeepTheEarliestGitHubUser(t *testing.T) {
	t.Parallel()
	charged := at(2, checkout("e1", `"transaction":"t1","metadata":{"kind":"pro","user_id":"u1","github":"late"}`))
	ordered := at(1, checkout("e2", `"order":{"id":"o1"},"metadata":{"kind":"pro","user_id":"u1","github":"early"}`))
	linked := at(3, checkout("e3", `"order":{"id":"o1","transaction":"t1"},"metadata":{"kind":"pro","user_id":"u1"}`))
	for _, log := range [][]string{{charged, ordered, linked}, {ordered, charged, linked}, {linked, ordered, charged}, {ordered, linked, charged}} {
		license, _ := fold(t, log...).Licenses.Get("u1")
		require.Equal(t, "early", license.GitHubUsername)
	}
}
