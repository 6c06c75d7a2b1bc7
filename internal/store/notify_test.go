package store

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/tables"
)

func TestTooManyUsersForOneNotificationMeanAnyUser(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 127)
	for _, users := range [][]string{{"u\"\n1", "u2"}, slices.Repeat([]string{long}, 30)} {
		for i := range users[:len(users)-1] { // a set has each once
			users[i] = string(rune('a'+i)) + users[i]
		}
		slices.Sort(users)
		set := tables.Set{}
		set.Add(users...)
		require.Equal(t, users, UsersIn(payloadOf(set)))
	}
	all := tables.Set{}
	for i := range 40 {
		all.Add(string(rune('a'+i)) + long)
	}
	payload := payloadOf(all)
	require.JSONEq(t, `{"all":true}`, payload, "Postgres does not accept so long a list")
	require.Nil(t, UsersIn(payload))
	require.Nil(t, UsersIn("no JSON"))
}
