package rebuild

import (
	"math"
	"runtime/debug"
)

const (
	// eventMemory is more than the rows of most events need, also for customers with long
	// histories.
	eventMemory = 768
	usualMemory = eventMemory << 20 // for a million events
)

// chunkMemory is the limit for the rows of a chunk: half of GOMEMLIMIT, because reading ahead and
// writing need memory, too.
func chunkMemory() int { return limitOver(2) }

// knownMemory is the limit for the places of rows and the ids of events: a quarter of GOMEMLIMIT.
func knownMemory() int { return limitOver(4) }

// limitOver returns GOMEMLIMIT, divided; without that limit it returns usualMemory.
func limitOver(divisor int64) int {
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		return int(limit / divisor)
	}
	return usualMemory
}
