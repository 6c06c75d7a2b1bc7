package blockstore

import (
	"path/filepath"

	"github.com/payfold/payfold/internal/durable"
)

// writeAgain replaces the settings, and each block from the watermark's on, by a copy of itself. It does nothing after
// an orderly stop.
//
// If an fsync has failed before this start, the kernel may still have what was not written, but count it as written.
// Then it can be read, and no fsync would write it: it would be confirmed and lost later. So it is written again before
// the check reads it. To write the same bytes into the same file is not enough: ext4 does not note again that its
// blocks are in use, and reads zeros after it is mounted again. Earlier blocks were flushed without an error.
func (s *Store) writeAgain(e *expectation) error {
	if e.closed || e.report.LogID == "" {
		return nil
	}
	blocks, err := s.blocks()
	if err != nil {
		return err
	}
	first := newestOf(blocks)
	if e.watermark != nil {
		first = min(first, e.watermark.Block)
	}
	files := []string{filepath.Join(s.folder, metaFile), filepath.Join(s.folder, metaSum)}
	for _, block := range from(first, blocks) {
		files = append(files, s.block(block))
	}
	for _, path := range files {
		content, err := readBlock(path, nil)
		switch {
		case isLost(err) || len(content) > maxBlock:
			continue // the check finds it
		case err != nil:
			return err
		}
		if err := durable.Replace(path, string(content)); err != nil {
			return err
		}
	}
	return nil
}
