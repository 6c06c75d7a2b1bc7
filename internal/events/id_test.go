package events

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestAPlainIDIsUnchanged(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"evt_5WHHcZPv7VS0YUsberIuOz", "!", "~", strings.Repeat("x", 200)} {
		require.Equal(t, id, CleanID(id))
	}
}

func TestAnyOtherIDIsReplacedByItsHash(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"", " evt", "evt\r\nX: y", "é", "\x00", strings.Repeat("x", 201), "sha256:00"} {
		require.Regexp(t, `^sha256:[0-9a-f]{64}$`, CleanID(id))
	}
}

func TestDifferentIDsStayDifferent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.String().Draw(t, "a"), rapid.String().Draw(t, "b")
		require.Equal(t, a == b, CleanID(a) == CleanID(b))
		require.NotEqual(t, CleanID(a), CleanID(CleanID(a)+" "))
	})
}
