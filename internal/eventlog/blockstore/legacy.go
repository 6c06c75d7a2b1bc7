package blockstore

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Older builds had no watermark but a file log/flushed. It holds the number of the newest
// block that a flush had covered, "all" after an orderly stop, or "synced". It does not
// name its log, so nothing is discarded because of it: after "all" the whole log must be
// undamaged, otherwise everything except the end of the newest block. Recover replaces the
// file by a watermark.
const (
	legacyName  = "flushed"
	legacyWhole = "all"
)

func (s *Store) legacyPath() string { return filepath.Join(s.root, legacyName) }

func (s *Store) legacyText() string {
	text, err := os.ReadFile(s.legacyPath())
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// legacyBlocks returns the least number of blocks that the log must have.
func (s *Store) legacyBlocks() int {
	number, err := strconv.Atoi(s.legacyText())
	if err != nil {
		return 0
	}
	return number
}
