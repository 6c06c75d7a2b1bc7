package store

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTooManyUsersForOneNotificationMeanAnyUser(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 127)
	for _, users := range [][]string{{"u\"\n1", "u2"}, slices.Repeat([]string{long}, 31), {}} {
		require.Equal(t, users, ParseLicensesPayload(licensesPayload(users)))
	}
	payload := licensesPayload(slices.Repeat([]string{long}, 40))
	require.Empty(t, payload, "Postgres does not accept so long a list")
	require.Nil(t, ParseLicensesPayload(payload))
}
