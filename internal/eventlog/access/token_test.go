package access

import (
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAFileWithOtherBytesThanATokenIsReplaced(t *testing.T) {
	t.Parallel()
	quiet := slog.New(slog.DiscardHandler)
	for name, damaged := range map[string]string{"NULs": strings.Repeat("\x00", 48), "two lines": "one\ntwo", "nothing": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(tokenFile(dir), []byte(damaged), 0o600))
			require.Empty(t, Token(dir))
			token, err := EnsureToken(dir, quiet)
			require.NoError(t, err)
			require.Len(t, token, 48)
			require.Equal(t, token, Token(dir))
			again, err := EnsureToken(dir, quiet)
			require.NoError(t, err)
			require.Equal(t, token, again)
		})
	}
}
