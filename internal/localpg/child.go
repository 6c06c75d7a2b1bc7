package localpg

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// shutdownTimeout limits a fast shutdown. It ends with a checkpoint, which can take long on a
// slow disk. After this time the server is stopped without one, and recovers at the next start.
const shutdownTimeout = time.Minute

// child is a started process. ended receives its result once.
type child struct {
	process *os.Process
	ended   chan error
}

// startChild starts a command in a new process group, so that Ctrl-C in a terminal does not
// reach it. On Linux the kernel sends the signal death to the child when this process dies.
func startChild(command *exec.Cmd, death syscall.Signal) (*child, error) {
	setDeathSignal(command.SysProcAttr, death)
	started, ended := make(chan error, 1), make(chan error, 1)
	go func() {
		// Linux sends the signal when the thread that forked ends, not the process. So that
		// thread must live as long as the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := command.Start()
		started <- err
		if err == nil {
			ended <- command.Wait()
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return &child{process: command.Process, ended: ended}, nil
}

// stop shuts a postmaster down ("fast shutdown") and returns when the process has ended.
func (c *child) stop() {
	_ = c.process.Signal(syscall.SIGINT)  // fails only if the process has already ended
	_ = c.process.Signal(syscall.SIGCONT) // a process that was stopped would not react
	timer := time.NewTimer(shutdownTimeout)
	defer timer.Stop()
	select {
	case <-c.ended:
	case <-timer.C:
		_ = c.process.Signal(syscall.SIGQUIT)
		<-c.ended
	}
}

// command prepares a program of Postgres to run as the account.
func command(who account, path string, args ...string) *exec.Cmd {
	cmd := exec.Command(path, args...)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: who.credential()}
	cmd.Env = []string{"LC_ALL=C", "TZ=UTC"}
	// The server must not get the caller's PG… variables or its secrets.
	for _, name := range []string{"PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"} {
		if value, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	return cmd
}
