package blockstore

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
)

// Check reads every record of every block, on all cores, and reports all damage. It changes nothing. Damage is not an
// error: an error says why the log could not be checked. If a server is running, which may write above the durable
// watermark, the check ignores the records above it. progress is called after each block, by one goroutine at a time.
// It may be nil.
func (s *Store) Check(ctx context.Context, running bool, progress func(done, blocks int)) (*Report, error) {
	return s.checkWith(running, s.onAllCores(ctx, progress))
}

// scanner reads blocks, and returns what each has.
type scanner func(blocks []int) ([]blockScan, error)

// checkWith is Check with a function that reads the blocks.
func (s *Store) checkWith(running bool, scan scanner) (*Report, error) {
	for {
		expected, err := s.expect(running)
		if err != nil {
			return nil, err
		}
		report, err := s.check(expected, scan)
		// All that was to be checked may have been trimmed meanwhile.
		if err != nil || !running || report.First <= expected.durable()+1 {
			return report, err
		}
	}
}

func (s *Store) check(expected *expectation, scan scanner) (*Report, error) {
	if len(expected.report.Damage) > 0 || expected.report.LogID == "" {
		return expected.report, nil
	}
	blocks, err := s.blocks()
	if err != nil {
		return nil, err
	}
	scans, err := scan(from(expected.report.firstBlock, blocks))
	if err != nil {
		return nil, err
	}
	if expected.running {
		if scans, err = s.withoutTrimmed(expected, scans); err != nil {
			return nil, err
		}
	}
	s.evaluate(expected, scans)
	return expected.report, nil
}

// withoutTrimmed leaves out what the running server has trimmed during the scan: it does not count as missing.
func (s *Store) withoutTrimmed(e *expectation, scans []blockScan) ([]blockScan, error) {
	now, err := s.Watermark()
	if err != nil || now == nil || now.FirstBlock <= e.report.firstBlock {
		return scans, err
	}
	e.report.First, e.report.firstBlock = now.First, now.FirstBlock
	return slices.DeleteFunc(scans, func(scan blockScan) bool { return scan.number < now.FirstBlock }), nil
}

// Scrub is Check for a log that a server has open, on one core. It reads what the disk has, and not what the kernel has
// in memory. pace is called after each block with its size, and can slow the check down.
func (s *Store) Scrub(ctx context.Context, pace func(ctx context.Context, bytes int) error) (*Report, error) {
	return s.checkWith(true, func(blocks []int) (scans []blockScan, err error) {
		scans = make([]blockScan, len(blocks))
		var buffer []byte
		for n, block := range blocks {
			forget(s.block(block))
			if scans[n], buffer, err = s.scanBlock(block, buffer, nil); err != nil {
				return nil, err
			}
			forget(s.block(block)) // the memory is for those who need it
			if err := pace(ctx, scans[n].size); err != nil {
				return nil, err
			}
		}
		return scans, nil
	})
}

// blockScan is the content of one block.
type blockScan struct {
	number int
	size   int
	pieces []piece
}

// onAllCores reads several blocks at once.
func (s *Store) onAllCores(ctx context.Context, progress func(done, blocks int)) scanner {
	return func(blocks []int) ([]blockScan, error) {
		scans, done := make([]blockScan, len(blocks)), 0
		buffers := sync.Pool{New: func() any { return new([]byte) }}
		var mu sync.Mutex // guards done
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(runtime.GOMAXPROCS(0))
		for n, block := range blocks {
			group.Go(func() (err error) {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				buffer := buffers.Get().(*[]byte)
				defer buffers.Put(buffer)
				if scans[n], *buffer, err = s.scanBlock(block, *buffer, nil); err != nil {
					return err
				}
				mu.Lock()
				defer mu.Unlock()
				if done++; progress != nil {
					progress(done, len(blocks))
				}
				return nil
			})
		}
		return scans, group.Wait()
	}
}

// maxBlock is far more than the server writes into one block, which is 8 MB and a message.
const maxBlock = 64 << 20

// scanBlock reads one block into the buffer. It returns the buffer for the next call.
func (s *Store) scanBlock(number int, buffer []byte, deliver func(Record)) (blockScan, []byte, error) {
	scan, err := blockScan{number: number}, error(nil)
	buffer, err = readBlock(s.block(number), buffer)
	if isLost(err) {
		scan.pieces = []piece{{bad: err.Error()}}
		return scan, buffer, nil
	}
	if err != nil {
		return scan, buffer, err
	}
	scan.size = len(buffer)
	scan.pieces = scanPieces(buffer, s.checksum(number), deliver)
	return scan, buffer, nil
}

// isLost reports whether a file cannot be read because the disk does not have it any more. Other errors say nothing of
// the disk, for example that this process has too many open files.
func isLost(err error) bool {
	byDisk := slices.ContainsFunc(lostByDisk, func(lost error) bool { return errors.Is(err, lost) })
	return byDisk || errors.Is(err, fs.ErrNotExist)
}

func readBlock(path string, buffer []byte) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return buffer, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return buffer, err
	}
	size := int(min(info.Size(), maxBlock+1))
	buffer = slices.Grow(buffer[:0], size)[:size]
	n, err := io.ReadFull(file, buffer)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		err = nil
	}
	return buffer[:n], err
}
