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
