package rebuild

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// spool keeps records in buckets: in memory up to a limit, beyond it in a temporary file. Records are added first, and
// read after the last one was added. A bucket's records stay in the order in which they were added. Only read is safe for
// concurrent use.
type spool struct {
	buckets int
	limit   int // bytes in memory
	blocks  [][]byte
	free    [][]byte
	records []placed // in memory, in the order in which they were added; after seal in that of their buckets
	begins  []int    // after seal: where the buckets begin in records
	file    *os.File // nil as long as all records fit in memory
	parts   []part   // of the file
	written int64    // bytes of the file
}

// placed is where a record is in memory.
type placed struct{ bucket, block, begin, end uint32 }

// part is what was in memory when the limit was reached. Each bucket's records are together.
type part struct {
	begin int64
	ends  []uint32 // of the buckets, from begin
}

// extent returns where a bucket is, from begin.
func (p *part) extent(bucket int) (begin, end uint32) {
	if bucket > 0 {
		begin = p.ends[bucket-1]
	}
	return begin, p.ends[bucket]
}

const (
	blockSize   = 1 << 20
	placedSize  = 16
	lengthSize  = 4 // before each record of the file
	tempPattern = "payfold-rebuild-*"
)

func newSpool(buckets, limit int) *spool { return &spool{buckets: buckets, limit: limit} }

// add copies a record of less than 4 GB.
func (s *spool) add(bucket int, record []byte) error {
	if n := len(s.blocks); n == 0 || cap(s.blocks[n-1])-len(s.blocks[n-1]) < len(record) {
		if n > 0 && n*blockSize+len(s.records)*placedSize > s.limit {
			if err := s.spill(); err != nil {
				return err
			}
		}
		s.grow(len(record))
	}
	block := &s.blocks[len(s.blocks)-1]
	begin := len(*block)
	*block = append(*block, record...)
	s.records = append(s.records, placed{uint32(bucket), uint32(len(s.blocks) - 1), uint32(begin), uint32(len(*block))})
	return nil
}

func (s *spool) grow(least int) {
	if n := len(s.free); n > 0 && cap(s.free[n-1]) >= least {
		s.blocks, s.free = append(s.blocks, s.free[n-1][:0]), s.free[:n-1]
		return
	}
	s.blocks = append(s.blocks, make([]byte, 0, max(min(blockSize, s.limit), least)))
}

// spill writes the records in memory to the file. The file has no name as soon as it is open: whatever happens to this
// process, nothing is left of it.
func (s *spool) spill() (err error) {
	if s.file == nil {
		if s.file, err = os.CreateTemp("", tempPattern); err != nil {
			return fmt.Errorf("make a temporary file: %w", err)
		}
		if err = os.Remove(s.file.Name()); err != nil {
			return fmt.Errorf("unlink the temporary file: %w", err)
		}
	}
	s.sort()
	out, next := bufio.NewWriterSize(s.file, blockSize), part{begin: s.written, ends: make([]uint32, s.buckets)}
	for bucket := range s.buckets {
		for _, at := range s.inMemory(bucket) {
			record := s.at(at)
			length := binary.LittleEndian.AppendUint32(out.AvailableBuffer(), uint32(len(record)))
			_, _ = out.Write(length) // Flush returns its error
			_, _ = out.Write(record)
			s.written += lengthSize + int64(len(record))
		}
		next.ends[bucket] = uint32(s.written - next.begin)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write a temporary file: %w", err)
	}
	s.parts, s.records = append(s.parts, next), s.records[:0]
	s.blocks, s.free = s.blocks[:0], append(s.free, s.blocks...)
	return nil
}

// seal ends the adding.
func (s *spool) seal() {
	s.free = nil
	s.sort()
}

// sort orders the records in memory by their buckets.
func (s *spool) sort() {
	s.begins = make([]int, s.buckets+1)
	for _, r := range s.records {
		s.begins[r.bucket+1]++
	}
	for bucket := range s.buckets {
		s.begins[bucket+1] += s.begins[bucket]
	}
	next, sorted := slices.Clone(s.begins), make([]placed, len(s.records))
	for _, r := range s.records {
		sorted[next[r.bucket]] = r
		next[r.bucket]++
	}
	s.records = sorted
}

func (s *spool) inMemory(bucket int) []placed { return s.records[s.begins[bucket]:s.begins[bucket+1]] }

func (s *spool) at(p placed) []byte { return s.blocks[p.block][p.begin:p.end] }

// read returns the records of a bucket. They are parts of one text.
func (s *spool) read(bucket int) ([]string, error) {
	var text strings.Builder
	text.Grow(s.size(bucket))
	records := make([]string, 0, len(s.inMemory(bucket)))
	add := func(record []byte) {
		begin := text.Len()
		text.Write(record)
		records = append(records, text.String()[begin:])
	}
	for _, p := range s.parts {
		begin, end := p.extent(bucket)
		written := make([]byte, end-begin)
		if _, err := s.file.ReadAt(written, p.begin+int64(begin)); err != nil && err != io.EOF {
			return nil, fmt.Errorf("read a temporary file: %w", err)
		}
		for len(written) > 0 {
			length := binary.LittleEndian.Uint32(written)
			add(written[lengthSize : lengthSize+length])
			written = written[lengthSize+length:]
		}
	}
	for _, p := range s.inMemory(bucket) {
		add(s.at(p))
	}
	return records, nil
}

// size returns at least the bytes of a bucket's records.
func (s *spool) size(bucket int) (size int) {
	for _, p := range s.parts {
		begin, end := p.extent(bucket)
		size += int(end - begin)
	}
	for _, p := range s.inMemory(bucket) {
		size += int(p.end - p.begin)
	}
	return size
}

// close frees the memory and the file.
func (s *spool) close() {
	if s.file != nil {
		_ = s.file.Close()
	}
	*s = spool{written: s.written}
}

// inOrder sorts records of events in the order of the log.
func inOrder(records []string) {
	slices.SortFunc(records, func(a, b string) int { return cmp.Compare(sequence(a), sequence(b)) })
}
