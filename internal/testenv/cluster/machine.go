//go:build linux

// Package cluster runs the servers of deploy/compose.yaml, from the same files: three NATS servers, and
// Postgres with a standby. They are processes of one machine, each in its own network namespace. A test
// kills, freezes, wipes and replaces them, cuts them off and changes their clocks. run.sh builds the
// programs; in-namespaces.sh makes the namespaces in which a test may do all this.
package cluster

import (
	"fmt"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv"
)

// Machine is a host in the network. One program runs on it.
type Machine struct {
	Name    string
	Address string
	*testenv.Program

	clock int // seconds ahead of the test's
}

// newMachine plugs a machine into the bridge that in-namespaces.sh made.
func newMachine(t testing.TB, name string, number int) *Machine {
	t.Helper()
	m := &Machine{Name: name, Address: fmt.Sprintf("10.77.0.%d", number)}
	run(t, "ip", "netns", "add", name)
	run(t, "ip", "link", "add", m.port(), "type", "veth", "peer", "name", "eth0", "netns", name)
	run(t, "ip", "link", "set", m.port(), "master", "lan", "up")
	m.run(t, "ip", "link", "set", "lo", "up")
	m.run(t, "ip", "address", "add", m.Address+"/24", "dev", "eth0")
	m.run(t, "ip", "link", "set", "eth0", "up")
	// A connection that was cut ends after seconds instead of a quarter of an hour, so that programs connect again.
	m.run(t, "sh", "-c", "echo 5 >/proc/sys/net/ipv4/tcp_retries2")
	return m
}

// port is the end of the machine's cable at the bridge.
func (m *Machine) port() string { return "to-" + m.Name }

// inside returns a command that runs on the machine.
func (m *Machine) inside(command ...string) []string {
	return append([]string{"nsenter", "--net=/run/netns/" + m.Name, "--"}, command...)
}

func (m *Machine) run(t testing.TB, command ...string) {
	t.Helper()
	run(t, m.inside(command...)...)
}

// start starts the machine's program, with the machine's clock.
func (m *Machine) start(t testing.TB, env []string, command ...string) {
	t.Helper()
	inside := m.inside(command...)
	m.Program = testenv.StartCommand(t, exec.Command(inside[0], inside[1:]...), append(env, fmt.Sprintf("TEST_CLOCK_OFFSET=%d", m.clock)))
}

// SetClock sets the clock of the programs that are started from now on, in seconds ahead of the test's.
func (m *Machine) SetClock(ahead int) { m.clock = ahead }

// Unplug pulls the machine's cable.
func (m *Machine) Unplug(t testing.TB) {
	t.Helper()
	run(t, "ip", "link", "set", m.port(), "down")
}

// Plug puts the cable back.
func (m *Machine) Plug(t testing.TB) {
	t.Helper()
	run(t, "ip", "link", "set", m.port(), "up")
}

// Cut drops all packets between two machines, silently, until Restore.
func Cut(t testing.TB, a, b *Machine) {
	t.Helper()
	a.filter(t, "-A", b)
	b.filter(t, "-A", a)
}

// Restore ends a Cut.
func Restore(t testing.TB, a, b *Machine) {
	t.Helper()
	a.filter(t, "-D", b)
	b.filter(t, "-D", a)
}

func (m *Machine) filter(t testing.TB, change string, from *Machine) {
	t.Helper()
	m.run(t, "iptables", "-w", change, "INPUT", "-s", from.Address, "-j", "DROP")
}

func run(t testing.TB, command ...string) string {
	t.Helper()
	out, err := output(command...)
	require.NoError(t, err, "%v: %s", command, out)
	return out
}

// output returns what a command prints.
func output(command ...string) (string, error) {
	out, err := exec.Command(command[0], command[1:]...).CombinedOutput()
	return string(out), err
}
