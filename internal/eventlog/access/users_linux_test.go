package access

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv/users"
)

func TestAnotherUsersServerIsNotTrusted(t *testing.T) {
	t.Parallel()
	dir := users.Folder(t)
	require.NoError(t, os.Chmod(dir, 0o777))
	path := filepath.Join(dir, "socket")
	var listener net.Listener
	var err error
	tried := users.AsOther(t, func() { listener, err = net.Listen("unix", path) })
	if !tried {
		listener, err = net.Listen("unix", path)
	}
	require.NoError(t, err)
	defer listener.Close()
	conn, err := net.Dial("unix", path)
	require.NoError(t, err)
	defer conn.Close()
	err = proveOwner(conn.(*net.UnixConn), path)
	if !tried {
		require.NoError(t, err, "its own")
		return
	}
	require.ErrorIs(t, err, ErrUntrusted)
	require.ErrorContains(t, err, "belongs to user 65534, this process runs as user 0")

	require.NoError(t, os.Mkdir(privatePath(dir), 0o700))
	require.NoError(t, os.Chown(privatePath(dir), users.Other, -1))
	_, err = dial(dir)
	require.ErrorIs(t, err, ErrUntrusted)
	require.ErrorContains(t, err, privatePath(dir)+" belongs to user 65534")
	_, err = makePrivate(dir)
	require.ErrorIs(t, err, ErrUntrusted, "ingest does not use such a folder either")
}
