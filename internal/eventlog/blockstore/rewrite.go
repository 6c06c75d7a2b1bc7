package blockstore

import (
	"os"
	"path/filepath"

	"github.com/payfold/payfold/internal/durable"
)

// rewriteName is the name of a copy until it has replaced its file.
const rewriteName = "rewritten.new"

// writeAgain replaces the settings, and each block from the watermark's on, by a copy of itself. It does nothing after
// an orderly stop.
//
// If an fsync has failed before this start, the kernel may still have what was not written, but count it as written.
// Then it can be read, and no fsync would write it: it would be confirmed and lost later. So it is written again before
// the check reads it. Earlier blocks were flushed without an error.
func (s *Store) writeAgain(e *expectation) error {
	if e.closed || e.report.LogID == "" {
		return nil
	}
	blocks, err := s.blocks()
	if err != nil {
		return err
	}
	from := newestOf(blocks)
	if e.watermark != nil {
		from = min(from, e.watermark.Block)
	}
	files := []string{filepath.Join(s.folder, metaFile), filepath.Join(s.folder, metaSum)}
	for _, block := range blocks {
		if block >= from {
			files = append(files, s.block(block))
		}
	}
	for _, path := range files {
		if err := s.rewrite(path); err != nil {
			return err
		}
	}
	return nil
}

// rewrite leaves a file that cannot be read as it is: the check finds it.
func (s *Store) rewrite(path string) error {
	if _, err := os.ReadFile(path); err != nil {
		return nil
	}
	return durable.Rewrite(path, filepath.Join(s.root, rewriteName))
}
