package blockstore

import (
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

const (
	indexFile = "index.db"

	// The first two bytes of an index. Every server reads older versions, too, and reads all
	// blocks instead if it does not know the version.
	indexMagic, indexVersion = 11, 4
)

// contents is what the server's index says about the messages in a block.
type contents struct {
	began, ended int64 // when the first and the last message were stored
	subjects     map[string]*uint64
}

func (c *contents) add(r Record) {
	if len(c.subjects) == 0 {
		c.began, c.subjects = r.Stored, map[string]*uint64{}
	}
	c.ended = r.Stored
	if messages, seen := c.subjects[string(r.Subject)]; seen {
		*messages++
		return
	}
	one := uint64(1)
	c.subjects[string(r.Subject)] = &one
}

// writeIndex replaces the server's index by an index of the blocks that were just read, so that the
// server does not read them again. The server ignores an index with any fault. If a block has no
// messages or is damaged, writeIndex only removes the index.
func (s *Store) writeIndex(scans []blockScan) error {
	path := filepath.Join(s.dir, indexFile)
	if err := ignoreMissing(os.Remove(path)); err != nil {
		return fmt.Errorf("remove the log's index: %w", err)
	}
	if len(scans) == 0 || slices.ContainsFunc(scans, func(scan blockScan) bool { return scan.run() == nil }) {
		return nil
	}
	if err := os.WriteFile(path, s.index(scans), 0o600); err != nil {
		return fmt.Errorf("write the log's index: %w", err)
	}
	return nil
}

// run returns the messages of an undamaged block; nil if it has none.
func (b blockScan) run() (run *piece) {
	for n := range b.pieces {
		switch p := &b.pieces[n]; {
		case p.isRun() && run == nil:
			run = p
		case !p.tombstone:
			return nil
		}
	}
	return run
}

// index encodes an index as the server does when it stops:
//
//	magic 1 | version 1 | messages, bytes, first seq, its time, last seq, its time |
//	number of subjects, for each: its length, the subject, messages, first block, last block |
//	number of blocks, for each: its number, bytes, first seq, time, last seq, time, 3 numbers of special messages |
//	number of the newest block | its last 8 bytes 8 | checksum 8
//
// Numbers without a length are varints. Times of blocks count from that of the first message.
func (s *Store) index(scans []blockScan) []byte {
	u, i := binary.AppendUvarint, binary.AppendVarint
	first, last := scans[0], scans[len(scans)-1]
	from, to, size := first.run().from, last.run().to, 0
	subjects := map[string]*indexedSubject{}
	for _, scan := range scans {
		size += scan.run().size
		for subject, messages := range scan.subjects {
			if subjects[subject] == nil {
				subjects[subject] = &indexedSubject{first: scan.number}
			}
			subjects[subject].messages += *messages
			subjects[subject].last = scan.number
		}
	}
	out := u(u(u([]byte{indexMagic, indexVersion}, to+1-from), uint64(size)), from)
	out = i(u(i(out, first.began), to), last.ended)

	out = u(out, uint64(len(subjects)))
	for _, subject := range slices.Sorted(maps.Keys(subjects)) {
		in := subjects[subject]
		out = append(u(out, uint64(len(subject))), subject...)
		out = u(u(u(out, in.messages), uint64(in.first)), uint64(in.last))
	}
	out = u(out, uint64(len(scans)))
	for _, scan := range scans {
		run := scan.run()
		out = u(u(u(out, uint64(scan.number)), uint64(run.size)), run.from)
		out = i(u(i(out, scan.began-first.began), run.to), scan.ended-first.began)
		out = append(out, 0, 0, 0) // deleted, with a time to live, scheduled
	}
	out = append(u(out, uint64(last.number)), last.end[:]...)
	sum := checksumFor(s.stream)
	_, _ = sum.Write(out) // never fails
	return sum.Sum(out)
}

// indexedSubject is what the index says about a subject.
type indexedSubject struct {
	messages    uint64
	first, last int // blocks that have a message of the subject
}
