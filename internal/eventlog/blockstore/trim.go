package blockstore

import (
	"fmt"
	"os"
	"sort"
)

// Trim decides which blocks the server may remove so that all messages from seq on stay. It writes
// that durably into the watermark. From then on these blocks count as removed. For each removed
// block, Trim returns the first sequence of the block after it, in order. The caller must purge the
// stream up to each of these sequences, one after the other. So the server removes one whole block
// at a time, and writes nothing. Recover removes the blocks that the server has not removed when
// the process ends.
//
// seq must be durable. The newest block always stays.
func (s *Syncer) Trim(seq uint64) (firsts []uint64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	firsts, block, err := s.passed(seq)
	if err != nil || len(firsts) == 0 {
		return nil, err
	}
	w := s.watermark.now
	if first := firsts[len(firsts)-1]; first > w.First {
		next := w
		next.First, next.FirstBlock = first, block
		if err := s.watermark.set(next); err != nil {
			s.watermark.now.First, s.watermark.now.FirstBlock = w.First, w.FirstBlock // so that the next call tries again
			return nil, err
		}
	}
	return firsts, nil
}

// TrimPoint returns the oldest sequence that Trim would keep, or 0 if Trim would remove nothing. It
// changes nothing.
func (s *Syncer) TrimPoint(seq uint64) (first uint64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	firsts, _, err := s.passed(seq)
	if err != nil || len(firsts) == 0 {
		return 0, err
	}
	return firsts[len(firsts)-1], nil
}

// passed returns the first sequence of each block that begins at or before seq, without the oldest
// block. It also returns the number of the last of these blocks.
func (s *Syncer) passed(seq uint64) (firsts []uint64, last int, err error) {
	w := s.watermark.now
	if w.LogID == "" || seq > w.Seq {
		return nil, 0, fmt.Errorf("%w: the log cannot be trimmed to seq %d, and is durable up to seq %d", ErrUnexpectedLayout, seq, w.Seq)
	}
	blocks, err := s.blocks()
	if err != nil {
		return nil, 0, err
	}
	// The last block that begins at or before seq.
	at := sort.Search(len(blocks), func(i int) bool { return s.firstIn(blocks[i]) > seq }) - 1
	if at < 1 {
		return nil, 0, nil
	}
	for _, block := range blocks[1 : at+1] {
		first := s.firstIn(block)
		if first > seq { // a purge up to first would remove everything
			return nil, 0, fmt.Errorf("%w: %s cannot be read", ErrUnexpectedLayout, s.block(block))
		}
		firsts = append(firsts, first)
	}
	return firsts, blocks[at], nil
}

// removeTrimmed removes the blocks before the first one that the log keeps.
func (s *Store) removeTrimmed(first int) (removed bool, err error) {
	blocks, err := s.blocks()
	for _, block := range blocks {
		if err == nil && block < first {
			removed, err = true, os.Remove(s.block(block))
		}
	}
	return removed, err
}
