package blockstore

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/payfold/payfold/internal/durable"
)

// Watermark says up to which sequence a log is durable, and which log that is.
//
// It is exact after an orderly stop and after a kill. After a power cut Seq can be older,
// never newer. Block is exact then too, because a new value is synced before any message in
// that block is confirmed.
type Watermark struct {
	Format int    `json:"format"`
	Writes uint64 `json:"writes"` // number of writes so far; the slot with more writes is newer
	Stream string `json:"stream"`
	LogID  string `json:"log_id"` // empty until the stream is created
	Seq    uint64 `json:"seq"`    // the newest durable sequence; no confirmed message lies above it
	Block  int    `json:"block"`  // the newest block that a finished flush has covered
	Closed bool   `json:"closed"` // the server was stopped in order; no message lies above Seq

	// The messages and blocks before these were removed, or are about to be. Both are 0 while the
	// log is whole.
	First      uint64 `json:"first,omitempty"`       // the oldest sequence that the log keeps
	FirstBlock int    `json:"first_block,omitempty"` // the block that begins with it
}

const (
	watermarkName   = "watermark"
	watermarkFormat = 1

	// slotSize is one sector of a disk: an interrupted write damages one slot at most.
	slotSize = 512
)

var errWatermark = errors.New("the durable watermark cannot be read")

func (s *Store) watermarkPath() string { return filepath.Join(s.root, watermarkName) }

// Watermark reads the watermark; nil if there is none.
func (s *Store) Watermark() (*Watermark, error) {
	content, err := os.ReadFile(s.watermarkPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return parseWatermark(content)
}

// encode writes the checksum and the watermark as JSON, padded with spaces.
func (w Watermark) encode(slot []byte) error {
	text, err := json.Marshal(w)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	line := append(hex.AppendEncode(slot[:0], sum[:8]), ' ')
	if line = append(line, text...); len(line) >= slotSize {
		return fmt.Errorf("the names of stream %q and its log are too long for a watermark", w.Stream)
	}
	for len(line) < slotSize-1 {
		line = append(line, ' ')
	}
	_ = append(line, '\n')
	return nil
}

// decode is the reverse of encode. It accepts only what encode can have written.
func decode(slot []byte) (w Watermark, err error) {
	sum, text, found := bytes.Cut(slot, []byte(" "))
	text = bytes.TrimRight(text, " \n")
	want := sha256.Sum256(text)
	if len(slot) != slotSize || !found || string(sum) != hex.EncodeToString(want[:8]) {
		return Watermark{}, errWatermark
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&w); err != nil {
		return Watermark{}, fmt.Errorf("%w: %w", errWatermark, err)
	}
	if w.Format != watermarkFormat {
		return Watermark{}, fmt.Errorf("%w: format %d, this build reads format %d", errWatermark, w.Format, watermarkFormat)
	}
	if w.Stream == "" || w.Seq >= isTombstone || w.Block < 0 ||
		w.First > w.Seq || w.FirstBlock < 0 || w.FirstBlock > w.Block || (w.First == 0) != (w.FirstBlock == 0) {
		return Watermark{}, errWatermark
	}
	return w, nil
}

// parseWatermark returns the newer of the two slots, or the only one that is valid.
func parseWatermark(content []byte) (*Watermark, error) {
	if len(content) != 2*slotSize {
		return nil, fmt.Errorf("%w: it has %d bytes, not %d", errWatermark, len(content), 2*slotSize)
	}
	first, err := decode(content[:slotSize])
	second, err2 := decode(content[slotSize:])
	switch {
	case err != nil && err2 != nil:
		return nil, err
	case err != nil || err2 == nil && second.Writes > first.Writes:
		return &second, nil
	}
	return &first, nil
}

// watermarkFile is the open file. Only one goroutine may use it at a time.
type watermarkFile struct {
	file *os.File
	now  Watermark
	slot [slotSize]byte
}

// newWatermark replaces the file; the new one is durable when newWatermark returns.
func (s *Store) newWatermark(w Watermark) (*watermarkFile, error) {
	temporary := s.watermarkPath() + ".new"
	file, err := os.OpenFile(temporary, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("write the durable watermark: %w", err)
	}
	f := &watermarkFile{file: file}
	if err = f.set(w); err == nil {
		err = os.Rename(temporary, s.watermarkPath())
	}
	if err == nil {
		err = durable.Sync(s.root)
	}
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("write the durable watermark: %w", err)
	}
	return f, nil
}

// set writes w into both slots, one after the other, and makes each durable.
func (f *watermarkFile) set(w Watermark) error {
	f.now = w
	for range 2 {
		if err := f.write(); err != nil {
			return err
		}
		if err := SyncData(f.file); err != nil {
			return fmt.Errorf("fsync the durable watermark: %w", err)
		}
	}
	return nil
}

// advance writes a newer sequence without a sync. It survives a kill. A power cut leaves
// this sequence or an older one.
func (f *watermarkFile) advance(seq uint64) error {
	if seq <= f.now.Seq {
		return nil
	}
	f.now.Seq = seq
	return f.write()
}

func (f *watermarkFile) write() error {
	f.now.Writes++
	if err := f.now.encode(f.slot[:]); err != nil {
		return err
	}
	if _, err := f.file.WriteAt(f.slot[:], int64(f.now.Writes%2)*slotSize); err != nil {
		return fmt.Errorf("write the durable watermark: %w", err)
	}
	return nil
}
