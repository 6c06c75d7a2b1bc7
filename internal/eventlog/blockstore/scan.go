package blockstore

import (
	"encoding/binary"
	"errors"
	"hash"
	"math"
)

// piece is a part of a block: a run of whole messages without a gap, a note of the
// server that everything up to a sequence is not there, or bytes that are neither.
type piece struct {
	offset, size int
	from, to     uint64 // of a run; a note: to
	note         bool
	bad          string // why these bytes are no message
}

// scan cuts what a block holds into pieces and gives out each message that is whole.
// It allocates nothing by what the bytes say.
func scan(data []byte, checksum hash.Hash64, deliver func(Record)) (pieces []piece) {
	budget := maxSearch
	for at := 0; at < len(data); {
		r, size, err := parseRecord(data[at:], checksum)
		switch {
		case size == 0:
			bad := "no record of the server begins here, or its checksum does not fit"
			if err == nil {
				bad = "it ends within a record"
			}
			size = search(data[at:], checksum, lastSeq(pieces), &budget)
			pieces = append(pieces, piece{offset: at, size: size, bad: bad})
		case errors.Is(err, errErased):
			seq := r.Seq &^ isErased
			pieces = append(pieces, piece{offset: at, size: size, from: seq, to: seq, bad: err.Error()})
		case r.note:
			pieces = append(pieces, piece{offset: at, size: size, note: true, to: r.Seq &^ isNote})
		default:
			if err != nil { // the checksum is right: the message is, but the server would give out another
				pieces = append(pieces, piece{offset: at, size: size, from: r.Seq, to: r.Seq, bad: err.Error()})
			} else if n := len(pieces) - 1; n >= 0 && pieces[n].isRun() && pieces[n].to+1 == r.Seq {
				pieces[n].to, pieces[n].size = r.Seq, pieces[n].size+size
			} else {
				pieces = append(pieces, piece{offset: at, size: size, from: r.Seq, to: r.Seq})
			}
			if deliver != nil && (err == nil || r.Header != nil) {
				deliver(r)
			}
		}
		at += size
		if len(pieces) > maxPieces {
			return append(pieces, piece{offset: at, size: len(data) - at, bad: "too much of it is damaged"})
		}
	}
	return pieces
}

func (p piece) isRun() bool { return p.bad == "" && !p.note }

// lastSeq is the newest sequence in the pieces, 0 where there is none.
func lastSeq(pieces []piece) (seq uint64) {
	for _, p := range pieces {
		if p.isRun() {
			seq = max(seq, p.to)
		}
	}
	return seq
}

const (
	// maxSearch bounds what is hashed to find the next record behind damage in one block.
	maxSearch = 256 << 20

	// maxPieces bounds the report about one block.
	maxPieces = 1000

	// minRecord has neither subject nor body.
	minRecord = fixedLength + checksumLength
)

// search returns how many bytes lie before the next record that is whole, at least 1;
// all of them where there is none. The sequence of a record behind damage is greater
// than the one before it, by no more than what fits between them.
func search(data []byte, checksum hash.Hash64, last uint64, budget *int) int {
	le := binary.LittleEndian
	for at := 1; at+minRecord <= len(data); at++ {
		size := int(le.Uint32(data[at:]) &^ hasHeader)
		if size < minRecord || size > len(data)-at || size < minRecord+int(le.Uint16(data[at+20:])) {
			continue
		}
		seq, most := le.Uint64(data[at+4:]), uint64(isNote-1)
		if last > 0 {
			most = last + 1 + uint64(at/minRecord)
		}
		if seq <= last || seq > min(most, math.MaxInt64) {
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
