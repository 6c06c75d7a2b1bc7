package blockstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Trust says that the server itself makes durable what it acknowledges.
func (s *Store) Trust() error {
	w := s.watermark.now
	w.Block = everyBlock
	return s.watermark.set(w)
}

// Resume prepares the flush for a stream that is there already.
func (s *Store) Resume() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.open(); !errors.Is(err, ErrNoBlock) {
		return err
	}
	return nil
}

// Begin makes a new stream durable, and the watermark its own. Nothing may be
// confirmed before. It does nothing where that has been done.
func (s *Store) Begin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.beginLocked()
}

func (s *Store) beginLocked() error {
	if s.watermark.now.LogID != "" {
		return nil
	}
	if err := syncTree(s.root); err != nil {
		return err
	}
	m, err := s.meta()
	if err != nil && s.watermark.now.Block == everyBlock {
		return nil // kept in a way that is not known here
	}
	if err != nil {
		return err
	}
	w := s.watermark.now
	w.LogID, w.Seq = m.Metadata[metaLogID], max(w.Seq, m.first()-1)
	return s.watermark.set(w)
}

// open looks for the newest block, once the stream is there.
func (s *Store) open() error {
	blocks, err := s.blocks()
	if err != nil {
		return err
	}
	if len(blocks) == 0 {
		return fmt.Errorf("%w in %s", ErrNoBlock, s.dir)
	}
	if err := s.beginLocked(); err != nil {
		return err
	}
	// The stream's own files and folders, too, where it is new.
	if err := syncTree(s.root); err != nil {
		return err
	}
	if err := s.use(newestOf(blocks)); err != nil {
		return err
	}
	s.opened = true
	return s.covered()
}

// Flush returns when all that the server has written is durable. Up to seq it had
// written everything when Flush was called. After an error it must not be called again.
func (s *Store) Flush(seq uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.opened {
		if err := s.open(); err != nil {
			return err
		}
	}
	began := s.newest
	for {
		// The next block is there before the first message in it, so what is
		// written behind this look is acknowledged behind it, too.
		_, missing := os.Stat(s.block(s.newest + 1))
		if missing != nil && !errors.Is(missing, fs.ErrNotExist) {
			return missing
		}
		if err := s.SyncBlock(s.file); err != nil {
			return fmt.Errorf("fsync %s: %w", s.file.Name(), err)
		}
		if missing != nil {
			break
		}
		if err := s.use(s.newest + 1); err != nil {
			return err
		}
	}
	if s.newest != began {
		if err := syncFile(s.dir); err != nil {
			return err
		}
		if err := s.covered(); err != nil {
			return err
		}
	}
	return s.watermark.advance(seq)
}

// covered makes durable that a flush has covered the newest block.
func (s *Store) covered() error {
	w := s.watermark.now
	w.Block = s.newest
	return s.watermark.set(w)
}

// FlushFolders is Flush for a server that syncs every message by itself, but not
// the entry of a new block in its folder. It knows no layout.
func (s *Store) FlushFolders(seq uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.beginLocked(); err != nil {
		return err
	}
	err := filepath.WalkDir(s.root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			err = syncFile(path)
		}
		return ignoreMissing(err)
	})
	if err != nil {
		return err
	}
	return s.watermark.advance(seq)
}

func (s *Store) use(block int) error {
	file, err := os.Open(s.block(block))
	if err != nil {
		return err
	}
	if s.file != nil {
		_ = s.file.Close() // it was only read and synced
	}
	s.file, s.newest = file, block
	return nil
}

// Close says that the server has stopped and everything in its folder is whole. It
// follows Recover; without orderly the watermark stays as it is, and the next start
// takes this one for a kill.
func (s *Store) Close(orderly bool) (err error) {
	if s.file != nil {
		_ = s.file.Close()
	}
	if s.watermark == nil {
		return nil
	}
	defer func() { err = errors.Join(err, s.watermark.file.Close()) }()
	if !orderly {
		return nil
	}
	if err := syncTree(s.root); err != nil {
		return fmt.Errorf("make the log durable: %w", err)
	}
	w := s.watermark.now
	if w.LogID == "" {
		return nil
	}
	if w.Seq, w.Block, err = s.end(w); err != nil {
		return err
	}
	w.Closed = true
	return s.watermark.set(w)
}

// end is the newest sequence of a log that nobody writes any more: the server may
// have stored what nobody waited for.
func (s *Store) end(w Watermark) (seq uint64, block int, err error) {
	blocks, err := s.blocks()
	if err != nil {
		return 0, 0, err
	}
	for n := len(blocks) - 1; n >= 0; n-- {
		scan, _, err := s.scanBlock(blocks[n], nil, nil)
		if err != nil {
			return 0, 0, err
		}
		for _, p := range scan.pieces {
			if p.bad != "" {
				return 0, 0, fmt.Errorf("%s at byte %d: %s", s.block(blocks[n]), p.offset, p.bad)
			}
		}
		if last := lastSeq(scan.pieces); last > 0 {
			return max(last, w.Seq), newestOf(blocks), nil
		}
	}
	return w.Seq, newestOf(blocks), nil
}
