package events

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func FuzzCleanID(f *testing.F) {
	for _, seed := range []string{"evt_1", "", "sha256:x", "a b", "\x00", "ü"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, id string) {
		require.Regexp(t, `^[\x21-\x7e]{1,200}$`, CleanID(id))
	})
}
