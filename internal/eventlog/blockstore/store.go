package blockstore

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Store is the embedded server's folder of message blocks: 1.blk, 2.blk, …, the newest being written, the others
// never again, and index.db, which saves the server reading them all.
//
// The server writes a message into its block before it acknowledges it, and
// syncs nothing. Beside its folder lies a mark of ours: the newest block that a
// finished flush has covered. Whatever the server acknowledged and somebody was
// told lies in blocks up to the mark; newer ones hold nothing that was confirmed.
type Store struct {
	root    string // of the server
	account string
	stream  string
	dir     string // of the blocks
	mark    string

	opened bool
	newest int      // the block that flush syncs
	file   *os.File // of it; kept open, so that no write error is reported elsewhere
}

const (
	blockSuffix = ".blk"
	indexFile   = "index.db"

	// Marks that are no number: the server was stopped in order; the server syncs
	// every message by itself, so that every block counts.
	markWhole  = "all"
	markSynced = "synced"
)

// ErrNoBlock: the server has not stored anything yet. It leaves the flush as it was.
var ErrNoBlock = errors.New("no message block")

// New describes the blocks of one stream below the server's root; it touches nothing.
func New(root, account, stream string) *Store {
	return &Store{
		root: root, account: account, stream: stream, dir: filepath.Join(root, "jetstream", account, "streams", stream, "msgs"),
		mark: filepath.Join(root, "flushed"),
	}
}

// Of is the store of another stream of the same server.
func (s *Store) Of(stream string) *Store { return New(s.root, s.account, stream) }

// Root is the server's folder.
func (s *Store) Root() string { return s.root }

// Remove deletes the stream, which no server may have open.
func (s *Store) Remove() error { return os.RemoveAll(filepath.Dir(s.dir)) }

// Recover makes what an earlier process left fit to be opened by the server, and
// durable. After anything but an orderly stop it sets aside the blocks above the
// mark: a power cut may keep them and lose the end of the block before, and then
// the log would have a gap. The index goes too, since it may tell of messages
// that are lost. It returns the blocks it set aside.
func (s *Store) Recover() (aside []string, err error) {
	blocks, err := s.blocks()
	if err != nil {
		return nil, err
	}
	newest := last(blocks)
	if text := readTrimmed(s.mark); text != markWhole {
		if err := os.Remove(filepath.Join(s.dir, indexFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("remove the log's index: %w", err)
		}
		// Without a mark the log is new, or restored, or was written sync always.
		if marked, err := strconv.Atoi(text); err == nil {
			if aside, err = s.setAside(blocks, marked); err != nil {
				return nil, err
			}
			newest = min(newest, marked)
		}
	}
	if err := errors.Join(syncTree(s.root), syncPath(s.root)); err != nil {
		return nil, fmt.Errorf("make the log durable: %w", err)
	}
	return aside, s.setMark(strconv.Itoa(newest))
}

func (s *Store) setAside(blocks []int, marked int) (aside []string, err error) {
	for _, block := range blocks {
		if block <= marked {
			continue
		}
		to := filepath.Join(s.root, fmt.Sprintf("unconfirmed-%d-%d%s", time.Now().UnixNano(), block, blockSuffix))
		if err := os.Rename(s.block(block), to); err != nil {
			return nil, fmt.Errorf("set aside an unconfirmed block: %w", err)
		}
		aside = append(aside, to)
	}
	return aside, nil
}

// Trust says that the server itself makes durable what it acknowledges.
func (s *Store) Trust() error { return s.setMark(markSynced) }

// Resume prepares the flush for a stream that is there already.
func (s *Store) Resume() error {
	if err := s.open(); !errors.Is(err, ErrNoBlock) {
		return err
	}
	return nil
}

// open looks for the newest block, once the stream is there.
func (s *Store) open() error {
	blocks, err := s.blocks()
	if err != nil {
		return err
	}
	if len(blocks) == 0 {
		return fmt.Errorf("%w in %s", ErrNoBlock, s.dir)
	}
	// The stream's own files and folders, too, where it is new.
	if err := syncTree(s.root); err != nil {
		return err
	}
	if err := s.use(last(blocks)); err != nil {
		return err
	}
	s.opened = true
	return s.setMark(strconv.Itoa(s.newest))
}

// Flush returns when all that the server has written is durable. Not safe for
// concurrent use. After an error it must not be called again.
func (s *Store) Flush() error {
	if !s.opened {
		if err := s.open(); err != nil {
			return err
		}
	}
	began := s.newest
	for {
		// The next block is there before the first message in it, so what is
		// written behind this look is acknowledged behind it, too.
		_, missing := os.Stat(s.block(s.newest + 1))
		if missing != nil && !errors.Is(missing, fs.ErrNotExist) {
			return missing
		}
		if err := syncData(s.file); err != nil {
			return fmt.Errorf("fsync %s: %w", s.file.Name(), err)
		}
		if missing != nil {
			break
		}
		if err := s.use(s.newest + 1); err != nil {
			return err
		}
	}
	if s.newest == began {
		return nil
	}
	if err := syncFile(s.dir); err != nil {
		return err
	}
	return s.setMark(strconv.Itoa(s.newest))
}

// FlushFolders is Flush for a server that syncs every message by itself, but not
// the entry of a new block in its folder. It knows no layout.
func (s *Store) FlushFolders() error {
	return filepath.WalkDir(s.root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			err = syncFile(path)
		}
		return ignoreMissing(err)
	})
}

func (s *Store) use(block int) error {
	file, err := os.Open(s.block(block))
	if err != nil {
		return err
	}
	if s.file != nil {
		_ = s.file.Close() // it was only read and synced
	}
	s.file, s.newest = file, block
	return nil
}

// Close says that the server has stopped and everything in its folder is whole.
func (s *Store) Close() error {
	if s.file != nil {
		_ = s.file.Close()
	}
	if err := syncTree(s.root); err != nil {
		return fmt.Errorf("make the log durable: %w", err)
	}
	return s.setMark(markWhole)
}

func (s *Store) setMark(text string) error {
	temporary := s.mark + ".new"
	if err := os.WriteFile(temporary, []byte(text+"\n"), 0o600); err != nil {
		return fmt.Errorf("mark what is durable: %w", err)
	}
	if err := syncFile(temporary); err != nil {
		return fmt.Errorf("mark what is durable: %w", err)
	}
	if err := os.Rename(temporary, s.mark); err != nil {
		return fmt.Errorf("mark what is durable: %w", err)
	}
	return syncFile(s.root)
}

// Holds says whether the newest block ends with a message of that body.
func (s *Store) Holds(body []byte) error {
	blocks, err := s.blocks()
	if err != nil {
		return err
	}
	content, err := os.ReadFile(s.block(last(blocks)))
	if err != nil {
		return err
	}
	const checksum = 8
	if len(content) < checksum || !bytes.HasSuffix(content[:len(content)-checksum], body) {
		return fmt.Errorf("%s does not end with the newest message", s.block(last(blocks)))
	}
	return nil
}

func (s *Store) block(number int) string {
	return filepath.Join(s.dir, strconv.Itoa(number)+blockSuffix)
}

// blocks returns the numbers of all blocks, in no order.
func (s *Store) blocks() (numbers []int, err error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list the log's blocks: %w", err)
	}
	for _, entry := range entries {
		name, isBlock := strings.CutSuffix(entry.Name(), blockSuffix)
		if number, err := strconv.Atoi(name); isBlock && err == nil {
			numbers = append(numbers, number)
		}
	}
	return numbers, nil
}

func last(numbers []int) int {
	newest := 0
	for _, number := range numbers {
		newest = max(newest, number)
	}
	return newest
}

func readTrimmed(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
