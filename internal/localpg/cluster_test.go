package localpg

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv/wait"
)

// fakeInitdb makes binaries whose initdb runs until it is killed. Reading from the result ends with io.EOF when all
// processes of initdb have ended.
func fakeInitdb(t *testing.T, dir, script string) (binaries string, output func() *bufio.Reader) {
	t.Helper()
	binaries, pipe := fakeBinaries(t, filepath.Join(dir, "bin")), filepath.Join(dir, "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	require.NoError(t, os.Chmod(pipe, 0o622)) // for the server's user
	script = "#!/bin/sh\nexec >" + pipe + "\necho begun\n" + script
	require.NoError(t, os.WriteFile(filepath.Join(binaries, "initdb"), []byte(script), 0o755))
	return binaries, func() *bufio.Reader {
		file, err := os.Open(pipe)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, file.Close()) })
		require.NoError(t, file.SetReadDeadline(time.Now().Add(wait.Timeout)))
		reader := bufio.NewReader(file)
		begun, err := reader.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "begun\n", begun)
		return reader
	}
}

func TestInitdbEndsWithItsServer(t *testing.T) {
	dir := dataDir(t, 0o755)
	binaries, output := fakeInitdb(t, dir, "sleep 600\ntrue\n") // a process of initdb's own
	t.Setenv("PG_BIN", binaries)
	server := start(t, dir)
	reader := output()
	stopped := make(chan error, 1)
	go func() { stopped <- server.stop() }()
	_, err := reader.ReadByte()
	require.ErrorIs(t, err, io.EOF)
	require.NoError(t, <-stopped)
}

// An initdb that is left behind would write into the folder that the next owner removes.
func TestInitdbEndsWithItsKilledOwner(t *testing.T) {
	t.Parallel()
	if !orphansStop {
		return // only Linux ends it
	}
	dir := dataDir(t, 0o755)
	binaries, output := fakeInitdb(t, dir, "exec sleep 600\n")
	owner := startOwner(t, dir, "PG_BIN="+binaries)
	reader := output()
	kill(t, owner)
	_, err := reader.ReadByte()
	require.ErrorIs(t, err, io.EOF)
}
