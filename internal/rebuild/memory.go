package rebuild

import "runtime/debug"

// maxMemory is the limit for what is kept of the log in memory: enough for about a million events.
const maxMemory = 384 << 20

// usualMemory returns maxMemory, or half of GOMEMLIMIT if that is less.
func usualMemory() int { return int(min(maxMemory, debug.SetMemoryLimit(-1)/2)) }
