package eventlog

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv/users"
)

func TestAnotherUserGetsNothing(t *testing.T) {
	t.Parallel()
	dir := users.Folder(t)
	s, l := listening(t, dir, "127.0.0.1:0")
	defer stop(t, s, l)
	var errs []error
	tried := users.AsOther(t, func() {
		_, reached := dial(dir)
		_, dialled := net.Dial("unix", filepath.Join(dir, "nats", "socket"))
		_, token := os.ReadFile(filepath.Join(dir, "nats.token"))
		_, key := os.ReadFile(filepath.Join(dir, "nats", "key.pem"))
		_, blocks := os.ReadDir(logFolder(dir))
		errs = []error{reached, dialled, token, key, blocks}
	})
	require.Equal(t, os.Geteuid() == 0, tried, "only root can try; for others see TestOnlyItsOwnUserCanReachTheLog")
	for _, err := range errs {
		require.ErrorIs(t, err, fs.ErrPermission)
	}
	if tried {
		require.ErrorContains(t, errs[0], "as one user")
	}
}
