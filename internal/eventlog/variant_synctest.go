//go:build synctest

package eventlog

import (
	"os"
	"sync"
	"time"
)

// SYNC_VARIANT says how the log is made durable:
//
//	group   as ever
//	always  one fsync for each message, one after the other
//	never   as nats-server does it by itself: every two minutes
//
// FLUSH_DELAY makes each flush slower, as a slower disk would, whoever does it.
func init() {
	delay, err := time.ParseDuration(os.Getenv("FLUSH_DELAY"))
	if err != nil {
		delay = 0
	}
	switch os.Getenv("SYNC_VARIANT") {
	case "always":
		variant.always = true
		variant.wrap = noFlush
		if delay > 0 {
			var disk sync.Mutex // the server holds its lock while it syncs
			variant.around = func(append func()) {
				disk.Lock()
				defer disk.Unlock()
				append()
				time.Sleep(delay)
			}
		}
	case "never":
		variant.never = true
		variant.wrap = noFlush
	default:
		variant.wrap = func(flush func(uint64) error) func(uint64) error {
			return func(seq uint64) error {
				time.Sleep(delay)
				return flush(seq)
			}
		}
	}
}

func noFlush(func(uint64) error) func(uint64) error { return func(uint64) error { return nil } }
