//go:build linux

// Package cluster runs the servers of deploy/compose.yaml, from the same files: three NATS servers, and
// Postgres with a standby. They are processes of one machine, each in its own network namespace. A test
// kills, freezes, wipes and replaces them, cuts them off and changes their clocks. run.sh builds the
// programs; in-namespaces.sh makes the namespaces in which a test may do all this.
package cluster

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv"
)

// Machine is a host in the network. One program runs on it.
type Machine struct {
	Name    string
	Address string
	*testenv.Program

	clock string // the file that TEST_CLOCK of run.sh names
}

// newMachine plugs a machine into the bridge that in-namespaces.sh made.
func newMachine(t testing.TB, name string, number int) *Machine {
	t.Helper()
	m := &Machine{Name: name, Address: fmt.Sprintf("10.77.0.%d", number), clock: "/run/clock-" + name}
	m.SetClock(t, 0)
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
	m.Program = testenv.StartCommand(t, exec.Command(inside[0], inside[1:]...), append(env, "TEST_CLOCK="+m.clock))
}

// SetClock sets the machine's clock, also for the program that runs there: it is ahead of the test's clock.
func (m *Machine) SetClock(t testing.TB, ahead time.Duration) {
	t.Helper()
	file, err := os.OpenFile(m.clock, os.O_WRONLY|os.O_CREATE, 0o644) // it is not truncated: programs have mapped it
	require.NoError(t, err)
	_, err = file.Write(binary.NativeEndian.AppendUint64(nil, uint64(int64(ahead/time.Second))))
	require.NoError(t, errors.Join(err, file.Close()))
}

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
	CutOneWay(t, a, b)
	CutOneWay(t, b, a)
}

// Restore ends a Cut.
func Restore(t testing.TB, a, b *Machine) {
	t.Helper()
	RestoreOneWay(t, a, b)
	RestoreOneWay(t, b, a)
}

// CutOneWay drops all packets from one machine to another, silently, until RestoreOneWay.
func CutOneWay(t testing.TB, from, to *Machine) {
	t.Helper()
	to.filter(t, "-A", from)
}

// RestoreOneWay ends a CutOneWay.
func RestoreOneWay(t testing.TB, from, to *Machine) {
	t.Helper()
	to.filter(t, "-D", from)
}

// Lose drops some of the packets from one machine to another until Keep. share is from 0 to 1.
func Lose(t testing.TB, from, to *Machine, share float64) {
	t.Helper()
	to.filter(t, "-A", from, some(share)...)
}

// Keep ends a Lose with the same share.
func Keep(t testing.TB, from, to *Machine, share float64) {
	t.Helper()
	to.filter(t, "-D", from, some(share)...)
}

func some(share float64) []string {
	return []string{"-m", "statistic", "--mode", "random", "--probability", fmt.Sprint(share)}
}

func (m *Machine) filter(t testing.TB, change string, from *Machine, match ...string) {
	t.Helper()
	m.run(t, append(append([]string{"iptables", "-w", change, "INPUT", "-s", from.Address}, match...), "-j", "DROP")...)
}

// SlowDown sends what the machine sends to others at a rate, such as 200kbit, until SpeedUp. Packets wait for
// seconds.
func (m *Machine) SlowDown(t testing.TB, rate string, to ...*Machine) {
	t.Helper()
	m.run(t, "tc", "qdisc", "add", "dev", "eth0", "root", "handle", "1:", "htb")
	m.run(t, "tc", "class", "add", "dev", "eth0", "parent", "1:", "classid", "1:1", "htb", "rate", rate)
	for _, other := range to {
		m.run(t, "tc", "filter", "add", "dev", "eth0", "parent", "1:", "protocol", "ip", "u32", "match", "ip", "dst", other.Address, "flowid", "1:1")
	}
}

// SpeedUp ends a SlowDown.
func (m *Machine) SpeedUp(t testing.TB) {
	t.Helper()
	m.run(t, "tc", "qdisc", "delete", "dev", "eth0", "root")
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
