package blockstore

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Before there was a watermark, log/flushed held the number of the newest block that
// a flush had covered, "all" after an orderly stop, or "synced". It does not say of
// which log, so nothing of a log is given up for it: after "all" everything must be
// whole, else everything but the end of the newest block. Recover replaces it.
const (
	legacyName  = "flushed"
	legacyWhole = "all"
)

func (s *Store) legacyPath() string { return filepath.Join(s.root, legacyName) }

func (s *Store) legacyMark() string {
	text, err := os.ReadFile(s.legacyPath())
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// legacyBlocks is how many blocks there were at least.
func (s *Store) legacyBlocks() int {
	number, err := strconv.Atoi(s.legacyMark())
	if err != nil {
		return 0
	}
	return number
}
