package blockstore

import (
	"encoding/binary"
	"errors"
	"hash"
	"math"
)

// piece is a part of a block: a run of undamaged messages without a gap, a tombstone of the
// server (no message up to a sequence exists), or bytes that are neither.
type piece struct {
	offset, size int
	from, to     uint64 // sequences of a run; a tombstone has only to
	tombstone    bool
	bad          string // why these bytes are no message
}

// scanPieces splits a block into pieces and delivers each undamaged message, if deliver is not nil. Lengths
// that it reads in the block never decide how much memory it allocates.
func scanPieces(data []byte, checksum hash.Hash64, deliver func(Record)) (pieces []piece) {
	if len(data) > maxBlock {
		return []piece{{size: len(data), bad: "it is longer than any block that the server writes"}}
	}
	budget := maxSearch
	for at := 0; at < len(data); {
		r, size, err := parseRecord(data[at:], checksum)
		switch {
		case size == 0:
			bad := "no record of the server begins here, or its checksum does not match"
			if err == nil {
				bad = "the block ends within a record"
			}
			size = search(data[at:], checksum, lastSeq(pieces), &budget)
			pieces = append(pieces, piece{offset: at, size: size, bad: bad})
		case errors.Is(err, errErased):
			seq := r.Seq &^ isErased
			pieces = append(pieces, piece{offset: at, size: size, from: seq, to: seq, bad: err.Error()})
		case r.tombstone:
			pieces = append(pieces, piece{offset: at, size: size, tombstone: true, to: r.Seq &^ isTombstone})
		default:
			if err != nil { // the checksum matches, but the server would deliver another message
				pieces = append(pieces, piece{offset: at, size: size, from: r.Seq, to: r.Seq, bad: err.Error()})
			} else if n := len(pieces) - 1; n >= 0 && pieces[n].isRun() && pieces[n].to+1 == r.Seq {
				pieces[n].to, pieces[n].size = r.Seq, pieces[n].size+size
			} else {
				pieces = append(pieces, piece{offset: at, size: size, from: r.Seq, to: r.Seq})
			}
			if err == nil || r.Header != nil {
				if deliver != nil {
					deliver(r)
				}
			}
		}
		at += size
		if len(pieces) > maxPieces {
			return append(pieces, piece{offset: at, size: len(data) - at, bad: "too much of the block is damaged"})
		}
	}
	return pieces
}

func (p piece) isRun() bool { return p.bad == "" && !p.tombstone }

// lastSeq returns the newest sequence in the pieces; 0 if there is none.
func lastSeq(pieces []piece) (seq uint64) {
	for _, p := range pieces {
		if p.isRun() {
			seq = max(seq, p.to)
		}
	}
	return seq
}

const (
	// maxSearch bounds the bytes that are hashed in one block to find records after damage.
	maxSearch = 256 << 20

	// maxPieces bounds the size of the report about one block.
	maxPieces = 1000

	// minRecord is the size of a record without subject and body.
	minRecord = fixedLength + checksumLength
)

// search returns the number of bytes before the next undamaged record, at least 1; if there
// is no such record, all bytes. The sequence of a record after damage is greater than last,
// by at most the number of records that fit between the two.
func search(data []byte, checksum hash.Hash64, last uint64, budget *int) int {
	le := binary.LittleEndian
	for at := 1; at+minRecord <= len(data); at++ {
		size := int(le.Uint32(data[at:]) &^ hasHeader)
		if size < minRecord || size > len(data)-at || size < minRecord+int(le.Uint16(data[at+20:])) {
			continue
		}
		seq, maxSeq := le.Uint64(data[at+4:]), uint64(isTombstone-1)
		if last > 0 {
			maxSeq = last + 1 + uint64(at/minRecord)
		}
		if seq <= last || seq > min(maxSeq, math.MaxInt64) {
			continue
		}
		if *budget -= size; *budget < 0 {
			break
		}
		if _, whole, err := parseRecord(data[at:], checksum); whole > 0 && (err == nil || errors.Is(err, ErrDamaged)) {
			return at
		}
	}
	return len(data)
}
