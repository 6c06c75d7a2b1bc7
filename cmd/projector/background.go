package main

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"
)

// gcPercent keeps the heap small. Nearly all of it is rows as bytes, which the collector need
// not scan. So a collection costs less than the first access to new memory.
const gcPercent = 20

// ballast is never written to, so it takes no memory. The collector counts it: without it, the
// small heap of a rebuild that begins would be collected every few megabytes.
var ballast []byte

const ballastSize = 256 << 20

// niceness gives live projection priority on the same cores. A rebuild still ends on a machine
// that is always busy.
const niceness = 5

// inBackground tunes the process for work on a whole log. It must run after the start of a
// private Postgres, which would inherit the priority.
func inBackground() {
	debug.SetGCPercent(gcPercent)
	if limit := debug.SetMemoryLimit(-1); limit == math.MaxInt64 { // GOMEMLIMIT would count it, too
		ballast = make([]byte, ballastSize)
		runtime.KeepAlive(ballast) // nothing else reads the variable
	}
	// On Linux each thread has its own niceness, and passes it on to threads that it starts.
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		_ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, niceness) // elsewhere the whole process has one niceness
		return
	}
	// Linux returns 20 minus the niceness.
	if own, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0); err == nil && own <= 20-niceness {
		return // as with "nice -n 19"; root would get more priority
	}
	for _, thread := range threads {
		if id, err := strconv.Atoi(thread.Name()); err == nil {
			_ = syscall.Setpriority(syscall.PRIO_PROCESS, id, niceness) // fails if the thread has ended
		}
	}
}
