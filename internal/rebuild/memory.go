package rebuild

import (
	"math"
	"runtime/debug"
)

const (
	// eventMemory is more than the rows of most events need, also of customers with long histories.
	eventMemory = 768
	usualMemory = eventMemory << 20 // for a million events
)

// knownMemory is the limit for the places of rows and the ids of events: a quarter of GOMEMLIMIT, and without that
// as much as for the rows of a chunk.
func knownMemory() int {
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		return int(limit / 4)
	}
	return usualMemory
}

// chunkMemory is the limit for the rows of a chunk: half of GOMEMLIMIT, because reading ahead and
// writing need memory, too. Without that it is usualMemory.
func chunkMemory() int {
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		return int(limit / 2)
	}
	return usualMemory
}
