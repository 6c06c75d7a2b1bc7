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
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv/wait"
)

var programs = sync.OnceValues(build)

func build() (string, error) {
	dir, err := os.MkdirTemp("", "payfold-bin-")
	if err != nil {
		return "", err
	}
	built.Lock()
	built.dirs = append(built.dirs, dir)
	built.Unlock()
	command := append([]string{"build", "-o", dir}, append(buildFlags, "github.com/payfold/payfold/cmd/...")...)
	if output, err := exec.Command("go", command...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the programs: %w\n%s", err, output)
	}
	return dir, nil
}

var built struct {
	sync.Mutex
	dirs []string
}

// RemovePrograms removes what Start built; for the end of a TestMain.
func RemovePrograms() {
	built.Lock()
	defer built.Unlock()
	for _, dir := range built.dirs {
		_ = os.RemoveAll(dir)
	}
}

// Program is one of payfold's programs as a real process, built with the race
// detector where the test is.
type Program struct {
	command *exec.Cmd
	output  output
	exited  chan struct{}
}

// Start starts a program (ingest, projector) with nothing in its environment
// but PATH, HOME and env. It is killed when the test ends.
func Start(t testing.TB, program string, env []string, args ...string) *Program {
	t.Helper()
	return StartCommand(t, exec.Command(Binary(t, program), args...), env)
}

// Binary is the path of a program that was built for the tests.
func Binary(t testing.TB, program string) string {
	t.Helper()
	dir, err := programs()
	require.NoError(t, err)
	return filepath.Join(dir, program)
}

// StartCommand starts any command in the same way, in a process group of its own.
func StartCommand(t testing.TB, command *exec.Cmd, env []string) *Program {
	t.Helper()
	interruptible()
	p := &Program{command: command, exited: make(chan struct{})}
	p.output.changed = make(chan struct{})
	// A program that was built with the race detector would sleep for a second at its end.
	command.Env = append([]string{"GORACE=atexit_sleep_ms=0", "PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "PG_BIN=" + os.Getenv("PG_BIN")}, env...)
	command.Stdout, command.Stderr = &p.output, &p.output
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
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
		// A data race is a failure even where the program went on.
		require.NotContains(t, p.output.String(), "DATA RACE")
	})
	return p
}

// interruptible gives what is started the usual way with SIGINT. A shell that runs
// the tests in the background has them ignore it, and a program would inherit that.
var interruptible = sync.OnceFunc(func() {
	if signal.Ignored(os.Interrupt) {
		signal.Notify(make(chan os.Signal, 1), os.Interrupt) // is ignored here as before
	}
})

// Pid is the process's id.
func (p *Program) Pid() int { return p.command.Process.Pid }

// Signal sends a signal to the process but not to its children. It does nothing if the
// process has ended.
func (p *Program) Signal(signal syscall.Signal) { _ = p.command.Process.Signal(signal) }

// SignalGroup sends a signal to the process and its children, as a terminal does.
func (p *Program) SignalGroup(signal syscall.Signal) {
	_ = syscall.Kill(-p.command.Process.Pid, signal)
}

// Kill ends the process as a power cut would, and waits until it is gone.
func (p *Program) Kill() {
	p.Signal(syscall.SIGKILL)
	<-p.exited
}

// Exit waits for the end and returns the exit status.
func (p *Program) Exit(t testing.TB) int {
	t.Helper()
	return p.ExitWithin(t, wait.Patience)
}

// ExitWithin is Exit for what may take longer.
func (p *Program) ExitWithin(t testing.TB, limit time.Duration) int {
	t.Helper()
	select {
	case <-p.exited:
	case <-time.After(limit):
		require.Fail(t, "the program did not end", p.output.String())
	}
	return p.command.ProcessState.ExitCode()
}

// Output is all it has written so far.
func (p *Program) Output() string { return p.output.String() }

// WaitFor waits for text in the output and returns what follows it on that line.
func (p *Program) WaitFor(t testing.TB, text string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), wait.Patience)
	defer cancel()
	rest, err := p.Await(ctx, text)
	require.NoError(t, err, p.output.String())
	return rest
}

// Await is WaitFor where the end of the program, or of ctx, is no surprise.
func (p *Program) Await(ctx context.Context, text string) (string, error) {
	for {
		written, changed := p.output.watch()
		if _, after, found := strings.Cut(written, text); found && strings.Contains(after, "\n") {
			rest, _, _ := strings.Cut(after, "\n")
			return rest, nil
		}
		select {
		case <-changed:
		case <-p.exited:
			if written, _ := p.output.watch(); strings.Contains(written, text) {
				continue
			}
			return "", errors.New("it ended without writing " + text)
		case <-ctx.Done():
			return "", errors.New("it has not written " + text)
		}
	}
}

// output collects what a process writes and tells who waits.
type output struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{}
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.changed)
	o.changed = make(chan struct{})
	return o.text.Write(p)
}

func (o *output) String() string {
	text, _ := o.watch()
	return text
}

func (o *output) watch() (string, <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String(), o.changed
}
