package blockstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// expectation says what a check must find, according to the stream's settings and the
// durable watermark.
type expectation struct {
	report    *Report
	watermark *Watermark // nil if there is none
	running   bool
	closed    bool // the server was stopped in order: no write was interrupted
}

// expect reads which log this is, and up to which sequence it must be undamaged. If the
// report has no LogID there is no log to check.
func (s *Store) expect(running bool) (*expectation, error) {
	if strings.ContainsAny(s.stream, "/\\.*> \t") {
		return nil, fmt.Errorf("%q is not a valid name of a stream", s.stream)
	}
	e := &expectation{running: running, report: &Report{Stream: s.stream, First: 1}}
	refuse := func(file, advice, format string, values ...any) (*expectation, error) {
		e.report.Damage = append(e.report.Damage, Damage{File: file, Reason: fmt.Sprintf(format, values...), Advice: advice})
		return e, nil
	}
	w, err := s.Watermark()
	if errors.Is(err, errWatermark) {
		return refuse(s.watermarkPath(), "restore it, or remove it to take the log as it is", "%v", err)
	}
	if err != nil {
		return nil, err
	}
	if w == nil && running {
		return nil, fmt.Errorf("the durable watermark %s of the running ingest is gone", s.watermarkPath())
	}
	if e.watermark = w; w != nil {
		e.report.Durable, e.report.Closed, e.closed = &w.Seq, w.Closed, w.Closed
		if w.Stream != s.stream {
			return refuse(s.watermarkPath(), fmt.Sprintf("set NATS_STREAM to %s, or DATA_DIR to another folder", w.Stream),
				"the log here is stream %s, and NATS_STREAM is %s", w.Stream, s.stream)
		}
	}
	if _, err := os.Stat(s.folder); errors.Is(err, fs.ErrNotExist) {
		others, err := s.others()
		switch {
		case err != nil:
			return nil, err
		case len(others) > 0:
			return refuse(filepath.Dir(s.folder), fmt.Sprintf("set NATS_STREAM to %s, or DATA_DIR to another folder", others[0]),
				"the log here is stream %s, and NATS_STREAM is %s", strings.Join(others, ", "), s.stream)
		case w != nil && w.LogID != "":
			return refuse(s.folder, adviceLost, "the log is gone: it had events up to seq %d", w.Seq)
		}
		return e, nil
	} else if err != nil {
		return nil, err
	}
	m, err := s.meta()
	if err != nil && !errors.Is(err, errMeta) {
		return nil, err
	}
	notYetCreated := w != nil && w.LogID == "" && w.Seq == 0
	if err != nil && notYetCreated && s.isEmpty() {
		return e, nil // its creation was interrupted
	}
	if err != nil {
		return refuse(s.folder, adviceRestore, "%v", err)
	}
	if fault := m.fault(s.stream); fault != "" {
		return refuse(filepath.Join(s.folder, metaFile), adviceRestore, "the stream's settings: %s", fault)
	}
	if format := m.Metadata[MetaFormat]; format != Format {
		return refuse(filepath.Join(s.folder, metaFile), adviceFormat, "the log has format %q, this build reads format %s", format, Format)
	}
	logID := m.Metadata[MetaLogID]
	if w != nil && w.LogID != "" && w.LogID != logID {
		return refuse(s.watermarkPath(), s.adviceAccept(), "it belongs to log %s, and the log here is %s", w.LogID, logID)
	}
	if file, reason := s.unexpectedFile(); file != "" {
		return refuse(file, adviceRestore, "%s", reason)
	}
	e.report.LogID, e.report.Begin = logID, m.first()
	first, firstBlock, err := s.kept(m, w)
	if errors.Is(err, errBegin) {
		return refuse(s.dir, adviceRestore, "%v", err)
	}
	if err != nil {
		return nil, err
	}
	e.report.First, e.report.firstBlock = first, firstBlock
	e.report.Partitions, _ = strconv.Atoi(m.Metadata[MetaPartitions])
	e.report.Restoring = m.Metadata[MetaRestoring] != ""
	return e, nil
}

var errBegin = errors.New("the oldest block cannot be read, and there is no watermark: nobody knows with which sequence the trimmed log begins")

// kept returns the oldest sequence that the log keeps, and the block that begins with it. The block
// is 0 if the log was never trimmed. If the watermark was removed, kept takes the log as it is.
func (s *Store) kept(m meta, w *Watermark) (first uint64, block int, err error) {
	switch {
	case w != nil && w.First > m.first():
		return w.First, w.FirstBlock, nil
	case w == nil && m.Metadata[MetaTrimmable] != "":
		blocks, err := s.blocks()
		if err != nil || len(blocks) == 0 {
			return m.first(), 0, err
		}
		if _, err := readBlock(s.block(blocks[0]), nil); err != nil && !isLost(err) {
			return 0, 0, err
		}
		switch first := s.firstIn(blocks[0]); {
		case first >= isTombstone && blocks[0] > 1: // a whole log begins with the first block
			return 0, 0, errBegin
		case first > m.first() && first < isTombstone:
			return first, blocks[0], nil
		}
	}
	return m.first(), 0, nil
}

// others returns the names of the other streams in the same folder.
func (s *Store) others() (names []string, err error) {
	entries, err := os.ReadDir(filepath.Dir(s.folder))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list the streams: %w", err)
	}
	for _, entry := range entries {
		if name := entry.Name(); entry.IsDir() && !strings.HasPrefix(name, ".") {
			names = append(names, name)
		}
	}
	return names, nil
}

// isEmpty reports whether no block holds a message.
func (s *Store) isEmpty() bool {
	blocks, err := s.blocks()
	for _, block := range blocks {
		if info, statErr := os.Stat(s.block(block)); statErr != nil || info.Size() > minRecord {
			return false // a tombstone, which says where the stream begins, has exactly that size
		}
	}
	return err == nil
}

// unexpectedFile returns a file on which the server would act when it opens the stream, and
// the reason: a folder that would replace the blocks, or a block with an invalid name.
func (s *Store) unexpectedFile() (file, reason string) {
	const replacement = "__new_msgs__"
	if _, err := os.Stat(filepath.Join(s.folder, replacement)); err == nil {
		return filepath.Join(s.folder, replacement), "the server would replace the log's blocks by it"
	}
	entries, _ := os.ReadDir(s.dir) // blocks() returns this error
	for _, entry := range entries {
		if _, isBlock := blockNumber(entry.Name()); !isBlock && strings.HasSuffix(entry.Name(), blockSuffix) {
			return filepath.Join(s.dir, entry.Name()), "it is not a block of the server"
		}
	}
	return "", ""
}
