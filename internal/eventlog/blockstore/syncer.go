package blockstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"github.com/payfold/payfold/internal/durable"
)

// Syncer makes durable what the server writes into the files of a Store, and notes it in the durable watermark. Recover
// returns it. Its methods are safe for concurrent use, except Close.
type Syncer struct {
	*Store
	SyncBlock func(*os.File) error // SyncData, unless a test replaces it before the first Flush
	Recovered *Report              // what the log held before a server opened it

	mu        sync.Mutex // guards the fields below
	watermark *watermarkFile
	file      *os.File // the newest block, once there is one; it stays open, so that Flush gets its write errors
	newest    int      // its number
}

// ErrNoBlock means that the server has not stored anything yet. Flush may be called again later.
var ErrNoBlock = errors.New("no message block")

// Resume prepares Flush for an existing stream.
func (s *Syncer) Resume() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.open(); !errors.Is(err, ErrNoBlock) {
		return err
	}
	return nil
}

// Begin makes a new stream durable, and writes its log id into the watermark. Nothing may
// be confirmed before. A second call does nothing.
func (s *Syncer) Begin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.beginLocked()
}

func (s *Syncer) beginLocked() error {
	if s.watermark.now.LogID != "" {
		return nil
	}
	if err := s.SyncAll(); err != nil {
		return err
	}
	m, err := s.meta()
	if err != nil {
		return err
	}
	w := s.watermark.now
	w.LogID, w.Seq = m.Metadata[MetaLogID], max(w.Seq, m.first()-1)
	return s.watermark.set(w)
}

// open finds the newest block of an existing stream.
func (s *Syncer) open() error {
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
	// This also makes the files and folders of a new stream durable.
	if err := s.SyncAll(); err != nil {
		return err
	}
	if err := s.use(newestOf(blocks)); err != nil {
		return err
	}
	return s.recordNewestBlock()
}

// Flush returns when everything that the server has written is durable. The server must
// have written all messages up to seq before the call. After an error Flush must not be
// called again.
func (s *Syncer) Flush(seq uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		if err := s.open(); err != nil {
			return err
		}
	}
	began := s.newest
	for {
		// The server creates a block before it writes the first message into it. So if the
		// next block does not exist yet, all messages acknowledged so far are in this one.
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
		if err := durable.Sync(s.dir); err != nil {
			return err
		}
		if err := s.recordNewestBlock(); err != nil {
			return err
		}
	}
	return s.watermark.advance(seq)
}

// recordNewestBlock writes the newest block's number into the watermark, durably.
func (s *Syncer) recordNewestBlock() error {
	w := s.watermark.now
	w.Block = s.newest
	return s.watermark.set(w)
}

func (s *Syncer) use(block int) error {
	file, err := os.Open(s.block(block))
	if err != nil {
		return err
	}
	if s.file != nil {
		_ = s.file.Close() // this process has written nothing through it
	}
	s.file, s.newest = file, block
	return nil
}

// Close is called after the server has stopped. orderly means that the server has written
// everything; then the watermark says so. Otherwise the watermark stays as it is, and the
// next start treats this stop like a kill.
func (s *Syncer) Close(orderly bool) (err error) {
	if s.file != nil {
		defer s.file.Close() // this process has written nothing through it
	}
	defer func() { err = errors.Join(err, s.watermark.file.Close()) }()
	if !orderly {
		return nil
	}
	if s.file != nil { // only a file that was open meanwhile is told that an fsync of the server has failed
		if err := s.SyncBlock(s.file); err != nil {
			return fmt.Errorf("fsync %s: %w", s.file.Name(), err)
		}
	}
	if err := s.SyncAll(); err != nil {
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

// end returns the newest sequence and block after the server has stopped. The sequence can
// be above the watermark, because the server may have stored messages after the last flush.
func (s *Syncer) end(w Watermark) (seq uint64, block int, err error) {
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
