package blockstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/payfold/payfold/internal/durable"
)

// Recover checks the log, prepares its files for the server, and makes them durable. The
// error is a *DamagedError if the log must not be opened; then nothing is changed.
//
// Before the check, Recover writes again what no flush may have written; see writeAgain.
//
// A kill can interrupt a trim, and a power cut can bring removed blocks back. So Recover removes
// the blocks before the watermark's FirstBlock.
//
// A torn end of the log, which a kill or a power cut has left, was never confirmed. Recover moves
// it into files log/unconfirmed-…. A power cut can keep a new block but lose the end of the block
// before. Then Recover moves the new block, too, because otherwise the log would have a gap. Unless
// the last stop was orderly, the server's index can name messages that are lost. So Recover
// removes it, and the server reads all blocks.
func (s *Store) Recover(ctx context.Context, progress func(done, blocks int)) (*Syncer, error) {
	expected, err := s.expect(false)
	if err != nil {
		return nil, err
	}
	if err := s.writeAgain(expected); err != nil {
		return nil, err
	}
	report, err := s.check(expected, s.onAllCores(ctx, progress))
	if err != nil {
		return nil, err
	}
	if len(report.Damage) > 0 {
		return nil, &DamagedError{report}
	}
	removedIndex, err := s.prepare(report)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(s.SyncAll(), durable.SyncPath(s.root)); err != nil {
		return nil, fmt.Errorf("make the log durable: %w", err)
	}
	blocks, empty, err := s.emptyEnd()
	if err != nil {
		return nil, err
	}
	w := Watermark{Format: watermarkFormat, Stream: s.stream, LogID: report.LogID, Seq: report.Last, Block: newestOf(blocks)}
	if report.firstBlock > 0 {
		w.First, w.FirstBlock = report.First, report.firstBlock
	}
	watermark, err := s.newWatermark(w)
	if err != nil {
		return nil, err
	}
	if removedIndex {
		if err := s.removeEmpty(empty); err != nil {
			return nil, errors.Join(fmt.Errorf("remove an empty block: %w", err), watermark.file.Close())
		}
	}
	return &Syncer{Store: s, SyncBlock: SyncData, Recovered: report, watermark: watermark}, nil
}

// indexFile is written by the server when it stops in order. It saves the server from reading all blocks.
const indexFile = "index.db"

// prepare removes what the server must not see. removedIndex is false if the server's index may stay, because it
// describes the same state.
func (s *Store) prepare(report *Report) (removedIndex bool, err error) {
	if report.LogID == "" { // the creation of the stream was interrupted, and it has no message
		return true, os.RemoveAll(s.folder)
	}
	removed, err := s.removeTrimmed(report.firstBlock)
	if err != nil {
		return false, fmt.Errorf("remove a trimmed block: %w", err)
	}
	if tail := report.TornTail; tail != nil {
		for _, block := range tail.Newer {
			if err := os.Rename(block, s.unconfirmed(block)); err != nil {
				return false, fmt.Errorf("set aside an unconfirmed block: %w", err)
			}
		}
		if err := s.cut(tail); err != nil {
			return false, fmt.Errorf("set aside the unconfirmed end of %s: %w", tail.File, err)
		}
	}
	if report.Closed && !removed {
		return false, nil
	}
	if err := ignoreMissing(os.Remove(filepath.Join(s.dir, indexFile))); err != nil {
		return false, fmt.Errorf("remove the log's index: %w", err)
	}
	return true, nil
}

// cut moves the end of a block into a separate file. If the process is killed in between,
// the end is in both files.
func (s *Store) cut(tail *Tail) error {
	block, err := os.OpenFile(tail.File, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer block.Close()
	if tail.Bytes > 0 {
		content := make([]byte, tail.Bytes)
		if _, err := block.ReadAt(content, int64(tail.Offset)); err != nil {
			return err
		}
		if err := durable.Create(s.unconfirmed(tail.File), string(content), 0o600); err != nil {
			return err
		}
	}
	return block.Truncate(int64(tail.Offset))
}

// unconfirmed is the new path of a block, or of its end.
func (s *Store) unconfirmed(block string) string {
	return filepath.Join(s.root, fmt.Sprintf("unconfirmed-%d-%s", time.Now().UnixNano(), filepath.Base(block)))
}

// emptyEnd returns the log's blocks without the empty ones at its end, and these.
func (s *Store) emptyEnd() (blocks, empty []int, err error) {
	blocks, err = s.blocks()
	for n := len(blocks) - 1; n >= 0 && err == nil; n-- {
		info, statErr := os.Stat(s.block(blocks[n]))
		if statErr != nil || info.Size() > 0 {
			return blocks[:n+1], blocks[n+1:], statErr
		}
	}
	return nil, blocks, err
}

// removeEmpty removes empty blocks at the end of the log. The server would do so itself when
// it reads all blocks. Removing them here lets a later check treat a missing block as lost. So the
// watermark must name an older block first: a flush may have covered an empty one.
func (s *Store) removeEmpty(blocks []int) error {
	if len(blocks) == 0 {
		return nil
	}
	for _, block := range blocks {
		if err := os.Remove(s.block(block)); err != nil {
			return err
		}
	}
	return durable.Sync(s.dir)
}
