package main

import (
	"os"
	"runtime/debug"
	"strconv"
	"syscall"
)

// gcPercent lets the heap grow to three times the state: whoever folds a whole
// log allocates much that is garbage at once, and the default would spend a third
// of its time on looking through the state for it.
const gcPercent = 200

// niceness lets live projection go first where both want the same cores.
const niceness = 10

// inBackground tunes the process for work on a whole log. It comes behind the
// start of a private Postgres, which is not to be slowed.
func inBackground() {
	debug.SetGCPercent(gcPercent)
	// Linux counts each thread for itself; new ones take after who starts them.
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		_ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, niceness) // elsewhere: all of it
	}
	for _, thread := range threads {
		if id, err := strconv.Atoi(thread.Name()); err == nil {
			_ = syscall.Setpriority(syscall.PRIO_PROCESS, id, niceness) // it may have ended
		}
	}
}
