//go:build linux

package cluster

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv/powercut"
)

// newDisk returns a disk with a journal: nats-server makes folders without an fsync of the folder above.
func newDisk() *powercut.Disk {
	disk := powercut.New()
	disk.Journal()
	return disk
}

// mount puts the server's store on a disk.
func (n *NATS) mount(t testing.TB, disk *powercut.Disk) {
	t.Helper()
	require.NoError(t, os.MkdirAll(n.store(), 0o755))
	unmount, err := disk.Mount(n.store())
	require.NoError(t, err)
	if n.disk == nil {
		t.Cleanup(func() { require.NoError(t, n.unmount()) }) // later cleanups, which run before this one, kill the server
	}
	n.disk, n.unmount = disk, unmount
}

// CutPower ends servers that StartOnDisks has started as a power cut does. random decides what their disks keep of
// what was not synced.
func CutPower(t testing.TB, random *rand.Rand, servers ...*NATS) {
	t.Helper()
	for _, n := range servers {
		n.Signal(syscall.SIGKILL)
	}
	for _, n := range servers {
		n.Kill()
		require.NoError(t, n.unmount())
		n.mount(t, n.disk.Survivor(random))
	}
}

// Harm changes the bytes of a file.
type Harm func(random *rand.Rand, content []byte) (changed []byte, what string)

// FlipBit flips one bit.
func FlipBit(random *rand.Rand, content []byte) (changed []byte, what string) {
	at, bit := random.IntN(len(content)), random.IntN(8)
	content[at] ^= 1 << bit
	return content, fmt.Sprintf("bit %d of byte %d of %d is flipped", bit, at, len(content))
}

// CutTail cuts off one byte or more.
func CutTail(random *rand.Rand, content []byte) (changed []byte, what string) {
	left := random.IntN(len(content))
	return content[:left], fmt.Sprintf("all but %d of %d bytes are cut off", left, len(content))
}

// The files of a server, as patterns of paths in its store.
const (
	StreamFolder = "jetstream/PAYFOLD/streams/PAYMENTS/"
	RaftFolder   = "jetstream/SYS/_js_/S-R*/"   // of the stream
	MetaFolder   = "jetstream/SYS/_js_/_meta_/" // of the cluster
)

// Damage harms one file of a stopped server, of those that match a pattern. It says what it did, or "" if no file with
// any content matches.
func (n *NATS) Damage(t testing.TB, random *rand.Rand, pattern string, harm Harm) (what string) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(n.store(), pattern))
	require.NoError(t, err)
	random.Shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] })
	for _, path := range found {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		if len(content) == 0 {
			continue
		}
		changed, what := harm(random, content)
		require.NoError(t, os.WriteFile(path, changed, 0o600))
		name, err := filepath.Rel(n.store(), path)
		require.NoError(t, err)
		return fmt.Sprintf("%s, %s: %s", n.Name, name, what)
	}
	return ""
}

// setSyncInterval sets how often the servers that are started from now on sync what they have acknowledged.
func setSyncInterval(t testing.TB, interval string) {
	t.Helper()
	const path, shipped = "/etc/nats/nats.conf", "sync_interval: always"
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(text), shipped)
	require.NoError(t, os.WriteFile(path, bytes.Replace(text, []byte(shipped), []byte("sync_interval: "+interval), 1), 0o644))
}
