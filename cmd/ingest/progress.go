package main

import (
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/payfold/payfold/internal/telemetry"
)

// progressInterval is the time between two lines about a long command.
const progressInterval = 5 * time.Second

// progressDue returns a function that reports whether it is time for the next line. The first one
// is due after an interval.
func progressDue() func() bool {
	last := time.Now()
	return func() bool {
		if time.Since(last) <= progressInterval {
			return false
		}
		last = time.Now()
		return true
	}
}

// progressTo returns fmt.Fprintf to w for lines about progress. It writes only those that are due.
func progressTo(w io.Writer) func(format string, args ...any) {
	due := progressDue()
	return func(format string, args ...any) {
		if due() {
			fmt.Fprintf(w, format, args...)
		}
	}
}

// checkProgress reports how far a start has checked the log: in /readyz, and now and then in
// ingest's own log output.
func checkProgress(readiness *telemetry.Readiness, logger *slog.Logger) func(done, blocks int) {
	const checking = "checking the log before it is opened"
	readiness.NotYet(checking)
	due := progressDue()
	return func(done, blocks int) {
		if done == blocks {
			readiness.NotYet("opening the log")
			return
		}
		readiness.NotYet(fmt.Sprintf("%s: %d of %d blocks", checking, done, blocks))
		if due() {
			logger.Info(checking, "blocks_done", done, "blocks", blocks)
		}
	}
}
