package blockstore

import (
	"errors"
	"fmt"
	"io/fs"
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
			return fmt.Errorf("write %s again: %w", path, err)
		}
	}
	return nil
}

// rewrite replaces a file by a copy. To write into the same file is not enough: ext4 does not note again that its
// blocks are in use, and reads zeros after it is mounted again. A file that cannot be read stays as it is: the check
// finds it.
func (s *Store) rewrite(path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	temporary := filepath.Join(s.root, rewriteName)
	if err := os.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) { // a killed process has left it
		return err
	}
	if err := durable.Create(temporary, string(content), 0o600); err != nil {
		return err
	}
	if err := os.Rename(temporary, path); err != nil {
		return errors.Join(err, os.Remove(temporary))
	}
	return durable.Sync(filepath.Dir(path))
}
