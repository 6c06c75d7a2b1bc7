package segment

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/payfold/payfold/internal/fingerprint"
)

// A segment is a sequence of zstd frames. Header, the head of each frame and footer are
// skippable frames, so that zstd -d prints the records. All numbers are little-endian.
//
//	header  magic 4, length 4 | "payfold segment\n" 16 | format 4 | partitions 4 | first sequence 8 | log_id, padded
//	        with zeros 64 | chain value before the first record 32
//	frames  each: magic 4, length 4 | its entry 24 | a zstd frame of records
//	footer  magic 4, length 4 | frames 4, each: offset of the zstd frame 8, its entry 24 | last sequence 8 | count 8 |
//	        stored at, of the first and the last record 16 | bytes of all records 8 | chain value after the last 32 |
//	        root of the Merkle tree 32 | length 4, the tree's right edge | SHA-256 of header and footer up to here 32 |
//	        length of the whole footer 4 | "payfold\n" 8
//	entry   first sequence 8 | records 4 | bytes of the records 4 | bytes of the zstd frame 4 | their CRC-32C 4
const (
	headerMagic = 0x184D2A50
	frameMagic  = 0x184D2A51
	footerMagic = 0x184D2A52

	formatVersion = 2

	skippable     = 4 + 4 // of a zstd frame that decoders skip: magic and length
	logIDLength   = 64
	headerLength  = skippable + 16 + 4 + 4 + 8 + logIDLength + 32
	entryLength   = 8 + 4 + 4 + 4 + 4
	footerFixed   = skippable + 4 + 8 + 8 + 16 + 8 + 32 + 32 + 4 + 32 + trailerLength
	trailerLength = 4 + 8

	// FrameBytes is the usual size at which a frame ends. The last record may make it longer.
	FrameBytes = 1 << 20
	maxFrame   = FrameBytes + recordLength + maxRecord

	// maxFooter bounds the memory for a footer: more than that of any segment.
	maxFooter = 16 << 20

	maxPartitions = 1 << 20
)

const (
	headerText  = "payfold segment\n"
	trailerText = "payfold\n"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Info is what a segment says about itself in its header and footer.
type Info struct {
	Name       string
	Size       int64 // of the file
	LogID      string
	Partitions int
	First      uint64
	Last       uint64
	StoredFrom time.Time // of the first record
	StoredTo   time.Time // of the last record
	Bytes      int64     // of all records
	Before     Hash      // the chain value before the first record
	After      Hash      // the chain value after the last record
	Root       Hash      // of the Merkle tree over the log up to Last

	Tree *fingerprint.Tree // up to Last; must not be changed

	index []frame
}

// Count is the number of records.
func (i *Info) Count() uint64 { return i.Last - i.First + 1 }

// frame is one zstd frame of records.
type frame struct {
	offset int64
	entry
}

type entry struct {
	first                     uint64
	records, size, compressed uint32
	checksum                  uint32
}

func (e entry) last() uint64 { return e.first + uint64(e.records) - 1 }

func (e entry) append(to []byte) []byte {
	to = le.AppendUint64(to, e.first)
	for _, n := range []uint32{e.records, e.size, e.compressed, e.checksum} {
		to = le.AppendUint32(to, n)
	}
	return to
}

func parseEntry(data []byte) entry {
	return entry{
		first: le.Uint64(data), records: le.Uint32(data[8:]), size: le.Uint32(data[12:]),
		compressed: le.Uint32(data[16:]), checksum: le.Uint32(data[20:]),
	}
}

func appendSkippable(to []byte, magic, length uint32) []byte {
	return le.AppendUint32(le.AppendUint32(to, magic), length)
}

// isSkippable reports whether data begins with a skippable frame's magic and length.
func isSkippable(data []byte, magic, length uint32) bool {
	return len(data) >= skippable && le.Uint32(data) == magic && le.Uint32(data[4:]) == length
}

func (i *Info) appendHeader(to []byte) []byte {
	to = appendSkippable(to, headerMagic, headerLength-skippable)
	to = append(to, headerText...)
	to = le.AppendUint32(to, formatVersion)
	to = le.AppendUint32(to, uint32(i.Partitions))
	to = le.AppendUint64(to, i.First)
	var id [logIDLength]byte
	copy(id[:], i.LogID)
	to = append(to, id[:]...)
	return append(to, i.Before[:]...)
}

var errHeader = errors.New("its header is invalid")

// parseHeader reads headerLength bytes.
func (i *Info) parseHeader(data []byte) error {
	if !isSkippable(data, headerMagic, headerLength-skippable) || string(data[8:24]) != headerText {
		return errHeader
	}
	if format := le.Uint32(data[24:]); format != formatVersion {
		return fmt.Errorf("it has format %d, this build reads format %d", format, formatVersion)
	}
	i.Partitions, i.First = int(le.Uint32(data[28:])), le.Uint64(data[32:])
	id, padding, _ := bytes.Cut(data[40:40+logIDLength], []byte{0})
	i.LogID = string(id)
	i.Before = Hash(data[40+logIDLength:])
	if len(bytes.Trim(padding, "\x00")) > 0 || i.Partitions < 1 || i.Partitions > maxPartitions || i.LogID == "" {
		return errHeader
	}
	return nil
}

// appendFooter takes the header, too, because the digest covers both.
func (i *Info) appendFooter(to, header []byte) []byte {
	edge, _ := i.Tree.MarshalBinary() // never fails
	length := footerFixed + len(i.index)*(8+entryLength) + len(edge)
	start := len(to)
	to = appendSkippable(to, footerMagic, uint32(length-skippable))
	to = le.AppendUint32(to, uint32(len(i.index)))
	for _, f := range i.index {
		to = f.entry.append(le.AppendUint64(to, uint64(f.offset)))
	}
	for _, n := range []uint64{i.Last, i.Count(), uint64(i.StoredFrom.UnixNano()), uint64(i.StoredTo.UnixNano()), uint64(i.Bytes)} {
		to = le.AppendUint64(to, n)
	}
	to = append(append(to, i.After[:]...), i.Root[:]...)
	to = append(le.AppendUint32(to, uint32(len(edge))), edge...)
	digest := digestOf(header, to[start:])
	to = append(to, digest[:]...)
	return append(le.AppendUint32(to, uint32(length)), trailerText...)
}

func digestOf(header, footer []byte) (out Hash) {
	hash := sha256.New()
	hash.Write(header)
	hash.Write(footer)
	hash.Sum(out[:0])
	return out
}

var errFooter = errors.New("its footer is invalid")

// footerSize reads the size of the footer from the last bytes of a segment.
func footerSize(trailer []byte) (int64, error) {
	if len(trailer) < trailerLength || string(trailer[len(trailer)-len(trailerText):]) != trailerText {
		return 0, errors.New("it does not end with a footer")
	}
	size := le.Uint32(trailer[len(trailer)-trailerLength:])
	if size < footerFixed || size > maxFooter {
		return 0, errFooter
	}
	return int64(size), nil
}

// parseFooter reads a footer. The header must have been parsed. offset is where the footer
// begins in its file.
func (i *Info) parseFooter(header, data []byte, offset int64) error {
	rest := data[:len(data)-trailerLength-sha256.Size]
	if digestOf(header, rest) != Hash(data[len(rest):]) || !isSkippable(rest, footerMagic, uint32(len(data)-skippable)) {
		return errors.New("its header or its footer is damaged")
	}
	// The digest is right, so only a faulty writer can cause the errors below.
	rest = rest[skippable:]
	frames := uint64(le.Uint32(rest))
	rest = rest[4:]
	if frames == 0 || frames*(8+entryLength) > uint64(len(data)-footerFixed) {
		return errFooter
	}
	next, at, bytes := i.First, int64(headerLength), int64(0)
	for range frames {
		f := frame{offset: int64(le.Uint64(rest)), entry: parseEntry(rest[8:])}
		rest = rest[8+entryLength:]
		if at += skippable + entryLength; f.offset != at || f.first != next || f.records == 0 || f.size > maxFrame {
			return errFooter
		}
		next, at, bytes = next+uint64(f.records), at+int64(f.compressed), bytes+int64(f.size)
		i.index = append(i.index, f)
	}
	i.Last, i.Bytes = le.Uint64(rest), int64(le.Uint64(rest[32:]))
	if at != offset || i.Last != next-1 || i.Last < i.First || le.Uint64(rest[8:]) != i.Count() || i.Bytes != bytes {
		return errFooter
	}
	i.StoredFrom, i.StoredTo = time.Unix(0, int64(le.Uint64(rest[16:]))).UTC(), time.Unix(0, int64(le.Uint64(rest[24:]))).UTC()
	i.After, i.Root = Hash(rest[40:]), Hash(rest[72:])
	edge := rest[104+4:]
	if uint64(le.Uint32(rest[104:])) != uint64(len(edge)) {
		return errFooter
	}
	i.Tree = new(fingerprint.Tree)
	if err := i.Tree.UnmarshalBinary(edge); err != nil {
		return fmt.Errorf("%w: %w", errFooter, err)
	}
	if Hash(i.Tree.Root()) != i.Root {
		return fmt.Errorf("%w: its hashes have another root", errFooter)
	}
	return nil
}
