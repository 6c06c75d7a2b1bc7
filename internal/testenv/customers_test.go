package testenv

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/providers"
)

func TestEventsOfCustomersAreOfAllKindsAndNameOlderPayments(t *testing.T) {
	t.Parallel()
	const customers, count = 10, 400
	kinds, perCustomer, paid := map[string]int{}, map[string]map[string]bool{}, map[string]string{}
	named, size := 0, 0
	for i := range count {
		body := Customers(customers).Event(i)
		size += len(body)
		event := providers.Decode(events.Message{Provider: "provider", Seq: uint64(i + 1), Body: []byte(body)})
		require.False(t, event.Unreadable, body)
		kind := event.Type + " " + event.Kind
		kinds[kind]++
		if perCustomer[event.UserID] == nil {
			perCustomer[event.UserID] = map[string]bool{}
		}
		perCustomer[event.UserID][kind] = true
		switch _, known := paid[event.Transaction]; {
		case event.Type != "subscription.update":
			require.False(t, known, "a transaction is new")
			paid[event.Transaction] = event.UserID
		case event.Transaction != "":
			named++
			require.Equal(t, event.UserID, paid[event.Transaction], "an older payment of the same customer")
		}
	}
	require.Equal(t, map[string]int{
		"subscription.paid subscription": count * 9 / 20, "checkout.completed one_time": count * 8 / 20,
		"subscription.update subscription": count * 2 / 20, "checkout.completed pro": count / 20,
	}, kinds)
	require.Len(t, perCustomer, customers)
	for user, of := range perCustomer {
		require.Len(t, of, len(kinds), user)
	}
	require.Greater(t, named, count/20)
	require.InDelta(t, 1500, size/count, 200)
}
