package testenv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv/wait"
)

var programs = sync.OnceValues(build)

// build builds the programs with the compiler's flags of make build and of all other tests that build programs, so that
// the compiler works once. -w leaves out what only debuggers need: a quarter of the linker's time. PROGRAM_FLAGS has
// further flags: the campaign of faults sets -race. With -race each start costs 0.2 s of CPU, and everything else twice
// as much. This is too much for the several hundred starts of the other tests.
func build() (string, error) {
	dir, err := os.MkdirTemp("", "payfold-bin-")
	if err != nil {
		return "", err
	}
	programsDir = dir
	args := append([]string{"build", "-trimpath", "-ldflags=-w", "-o", dir}, strings.Fields(os.Getenv("PROGRAM_FLAGS"))...)
	args = append(args, "github.com/payfold/payfold/cmd/...")
	if output, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the programs: %w\n%s", err, output)
	}
	return dir, nil
}

// programsDir has the programs; empty if they were not built.
var programsDir string

// RemovePrograms removes the programs that were built. TestMain calls it at the end.
func RemovePrograms() { _ = os.RemoveAll(programsDir) }

// Program is a process of a real program.
type Program struct {
	command *exec.Cmd
	output  wait.Buffer
	exited  chan struct{}
}

// Start starts a program (ingest, projector). Its environment has PATH, HOME, PG_BIN and
// env. The end of the test kills it.
func Start(t testing.TB, program string, env []string, args ...string) *Program {
	t.Helper()
	return StartCommand(t, exec.Command(Binary(t, program), args...), env)
}

// Binary builds the programs, once, and returns the path of one.
func Binary(t testing.TB, program string) string {
	t.Helper()
	dir, err := programs()
	require.NoError(t, err)
	return filepath.Join(dir, program)
}

// StartCommand starts any command as Start does, in a new session, as services run: with "autogroups",
// Linux shares the cores between sessions.
func StartCommand(t testing.TB, command *exec.Cmd, env []string) *Program {
	t.Helper()
	enableInterrupts()
	p := &Program{command: command, exited: make(chan struct{})}
	// GORACE: without it, a program with the race detector sleeps for a second at its end.
	command.Env = append([]string{"GORACE=atexit_sleep_ms=0", "PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "PG_BIN=" + os.Getenv("PG_BIN")}, env...)
	command.Stdout, command.Stderr = &p.output, &p.output
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	command.WaitDelay = 5 * time.Second
	require.NoError(t, command.Start())
	go func() {
		_ = command.Wait()
		close(p.exited)
	}()
	t.Cleanup(func() {
		p.Signal(syscall.SIGKILL)
		<-p.exited
		if t.Failed() {
			t.Logf("--- %s (exit %d)\n%s", filepath.Base(command.Path), p.command.ProcessState.ExitCode(), p.output.String())
		}
		// A program can continue after a data race.
		require.NotContains(t, p.output.String(), "DATA RACE")
	})
	return p
}

// enableInterrupts makes started programs react to SIGINT. A shell that runs the tests in
// the background makes them ignore it, and programs would inherit that.
var enableInterrupts = sync.OnceFunc(func() {
	if signal.Ignored(os.Interrupt) {
		signal.Notify(make(chan os.Signal, 1), os.Interrupt) // the tests still ignore it
	}
})

// Pid is the process's id.
func (p *Program) Pid() int { return p.command.Process.Pid }

// Signal sends a signal to the process but not to its children. It does nothing if the
// process has ended.
func (p *Program) Signal(signal syscall.Signal) { _ = p.command.Process.Signal(signal) }

// Freeze stops the process. On Linux it returns when none of its threads runs any more, which takes a
// while on a busy machine. A SIGCONT lets the process go on.
func (p *Program) Freeze(t testing.TB) {
	t.Helper()
	p.Signal(syscall.SIGSTOP)
	if runtime.GOOS != "linux" {
		return
	}
	wait.Until(t, func() bool {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", p.Pid()))
		return err == nil && len(threads) > 0 && !slices.ContainsFunc(threads, runs)
	}, "%s is not frozen", p.command)
}

// runs reports whether a thread is not stopped. It gets the path of the thread's file stat.
func runs(thread string) bool {
	stat, err := os.ReadFile(thread)
	_, state, _ := bytes.Cut(stat, []byte(") "))
	return err == nil && !bytes.HasPrefix(state, []byte("T"))
}

// SignalGroup sends a signal to the process and its children, as a terminal does.
func (p *Program) SignalGroup(signal syscall.Signal) {
	_ = syscall.Kill(-p.command.Process.Pid, signal)
}

// Kill kills the process and waits for its end.
func (p *Program) Kill() {
	p.Signal(syscall.SIGKILL)
	<-p.exited
}

// Exit waits for the end and returns the exit status.
func (p *Program) Exit(t testing.TB) int {
	t.Helper()
	return p.ExitWithin(t, wait.Timeout)
}

// ExitWithin is Exit with another timeout. The timeout begins anew with each output of the program,
// because a long command says how far it is.
func (p *Program) ExitWithin(t testing.TB, limit time.Duration) int {
	t.Helper()
	for written := len(p.Output()); !p.HasExited(); {
		select {
		case <-p.exited:
		case <-time.After(limit):
			before := written
			written = len(p.Output())
			require.Greater(t, written, before, "the program did not end: %s", p.Output())
		}
	}
	return p.command.ProcessState.ExitCode()
}

// HasExited reports whether the process has ended.
func (p *Program) HasExited() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// Output returns all that the program has written to stdout and stderr.
func (p *Program) Output() string { return p.output.String() }

// WaitFor waits for a line with text in the output, and returns the rest of that line.
func (p *Program) WaitFor(t testing.TB, text string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), wait.Timeout)
	defer cancel()
	rest, err := p.Await(ctx, text)
	require.NoError(t, err, p.output.String())
	return rest
}

// Await is WaitFor, but returns an error if the program or ctx ends first.
func (p *Program) Await(ctx context.Context, text string) (string, error) {
	for {
		written, changed := p.output.Watch()
		if _, after, found := strings.Cut(written, text); found && strings.Contains(after, "\n") {
			rest, _, _ := strings.Cut(after, "\n")
			return rest, nil
		}
		select {
		case <-changed:
		case <-p.exited:
			if strings.Contains(p.output.String(), text) {
				continue
			}
			return "", errors.New("it ended without writing " + text)
		case <-ctx.Done():
			return "", errors.New("it has not written " + text)
		}
	}
}
