package blockstore

import (
	"encoding/binary"
	"hash"
	"testing"

	"github.com/stretchr/testify/require"
)

// sameSum takes "00000000" for every checksum, so that what is behind it is tried.
type sameSum struct{ hash.Hash64 }

func (sameSum) Sum64() uint64 { return 0x3030303030303030 }

func FuzzARecordIsReadOrRefused(f *testing.F) {
	checksum := sameSum{(&Store{stream: "PAYMENTS"}).checksum(1)}
	stored := func(length uint32, subject, header, body string) []byte {
		out := binary.LittleEndian.AppendUint32(nil, length)
		out = append(out, "\x07\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00"...)
		out = binary.LittleEndian.AppendUint16(out, uint16(len(subject)))
		return append(append(append(append(out, subject...), header...), body...), "00000000"...)
	}
	f.Add([]byte{})
	f.Add(stored(42, "payments.1", "", "{}"))
	f.Add(stored(60|hasHeader, "payments.1", "\x0e\x00\x00\x00NATS/1.0\r\n\r\n\x00", "{}"))
	f.Add(stored(20, "payments.1", "", ""))
	f.Fuzz(func(t *testing.T, data []byte) {
		for len(data) > 0 {
			r, size, err := parseRecord(data, checksum)
			if err != nil || size == 0 {
				return
			}
			require.LessOrEqual(t, fixedLength+len(r.Subject)+len(r.Header)+len(r.Body)+checksumLength, size)
			data = data[size:]
		}
	})
}

// Whatever a block holds, its pieces are all of it, in order, and no message is given
// out that is not whole.
func FuzzABlockIsCutIntoPieces(f *testing.F) {
	w := &world{Store: New(f.TempDir(), "PAYFOLD", testStream)}
	block := append(append(w.message(1, 1), w.message(1, 2)...), w.message(1, 3)...)
	f.Add(block, 0, byte(0))
	f.Add(block, 90, byte(1))
	f.Add(w.record(1, 6|isTombstone, "", "", ""), 3, byte(0x80))
	f.Add([]byte("no block"), 0, byte(0))
	f.Fuzz(func(t *testing.T, data []byte, at int, flip byte) {
		for n, content := range [][]byte{data, append(append([]byte(nil), block...), data...)} {
			if n == 1 {
				content[uint(at)%uint(len(content))] ^= flip
			}
			end := 0
			for _, p := range scanPieces(content, w.checksum(1), func(r Record) {
				if n == 1 {
					require.Equal(t, bodyOf(r.Seq), string(r.Body))
				}
			}) {
				require.Equal(t, end, p.offset)
				require.Positive(t, p.size)
				end += p.size
			}
			require.Equal(t, len(content), end)
		}
	})
}

// Bytes that look like records to every check but the last one are given up after a while.
func TestTheSearchBehindDamageIsBounded(t *testing.T) {
	t.Parallel()
	w := &world{Store: New(t.TempDir(), "PAYFOLD", testStream)}
	hostile := make([]byte, 8<<20)
	for at := 0; at+4 < len(hostile); at += 4 {
		binary.LittleEndian.PutUint32(hostile[at:], 1<<20) // a length, a subject's length and, as a sequence, too much
		hostile[at+3] = 0
	}
	pieces := scanPieces(append(w.message(1, 1), hostile...), w.checksum(1), func(Record) {})
	require.Len(t, pieces, 2)
	sequences := make([]byte, 8<<20)
	for at := 0; at+32 < len(sequences); at += 32 {
		copy(sequences[at:], w.message(1, uint64(2+at/32))[:fixedLength])
		binary.LittleEndian.PutUint32(sequences[at:], 4<<20)
	}
	pieces = scanPieces(append(w.message(1, 1), sequences...), w.checksum(1), func(Record) {})
	require.Len(t, pieces, 2)
}
