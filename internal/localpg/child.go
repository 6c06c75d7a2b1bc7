package localpg

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// child is a started process. Its result arrives once on ended.
type child struct {
	process *os.Process
	ended   chan error
}

// startChild starts a command in a process group of its own, so that a
// terminal's Ctrl-C does not reach it, and, where the kernel can, has death
// sent to it when this process goes.
func startChild(command *exec.Cmd, death syscall.Signal) (*child, error) {
	setDeathSignal(command.SysProcAttr, death)
	started, ended := make(chan error, 1), make(chan error, 1)
	go func() {
		// Linux sends the signal when the thread that forked ends, not the
		// process: that thread stays for as long as the child does.
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

// stop ends a postmaster by a fast shutdown and returns when it is gone.
func (c *child) stop() {
	_ = c.process.Signal(syscall.SIGINT) // fails only when it is gone already
	timer := time.NewTimer(fastShutdown)
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
	// Neither PG… settings of the caller nor its secrets concern the server.
	for _, name := range []string{"PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"} {
		if value, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	return cmd
}
