package blockstore

import (
	"fmt"
	"os"
	"sort"
)

// Trim decides which blocks the server may remove so that all messages from seq on stay, and
// writes that durably into the watermark: from then on these blocks count as removed. It returns
// the sequences with which the blocks after each removed one begin, in order. The server must be
// told to purge up to each of them, one after the other: it then removes a whole block, and
// writes nothing. What it has not removed when the process ends, Recover removes.
//
// seq must be durable. The newest block always stays.
func (s *Store) Trim(seq uint64) (firsts []uint64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.watermark.now
	if w.LogID == "" || w.Block == everyBlock || seq > w.Seq {
		return nil, fmt.Errorf("%w: the log cannot be trimmed to seq %d, and is durable up to seq %d", ErrUnexpectedLayout, seq, w.Seq)
	}
	blocks, err := s.blocks()
	if err != nil {
		return nil, err
	}
	// The last block that begins at or before seq.
	at := sort.Search(len(blocks), func(i int) bool { return s.firstIn(blocks[i]) > seq }) - 1
	if at < 1 {
		return nil, nil
	}
	for _, block := range blocks[1 : at+1] {
		first := s.firstIn(block)
		if first > seq { // told to purge up to there, the server would remove everything
			return nil, fmt.Errorf("%w: %s cannot be read", ErrUnexpectedLayout, s.block(block))
		}
		firsts = append(firsts, first)
	}
	if first := firsts[len(firsts)-1]; first > w.First {
		next := w
		next.First, next.FirstBlock = first, blocks[at]
		if err := s.watermark.set(next); err != nil {
			s.watermark.now.First, s.watermark.now.FirstBlock = w.First, w.FirstBlock // so that it is tried again
			return nil, err
		}
	}
	return firsts, nil
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
