package main

import (
	"os"
	"runtime/debug"
	"strconv"
	"syscall"
)

// gcPercent keeps the heap small: nearly all of it is rows in a form that the
// collector need not look through, so that a collection costs little, and memory
// that is touched for the first time costs more.
const gcPercent = 20

// niceness lets live projection go first where both want the same cores, and yet a
// rebuild ends on a machine that is always busy.
const niceness = 5

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
