package blockstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Store is the folder of one stream's blocks: 1.blk, 2.blk, …, the newest being
// written, the others never again, and index.db, which saves the server reading them
// all.
//
// The server writes a message into its block before it acknowledges it, and syncs
// nothing. Whatever it acknowledged and somebody was told lies at or below the
// durable watermark.
type Store struct {
	// SyncBlock makes a block's bytes durable: fdatasync. Set it before Recover, or never.
	SyncBlock func(*os.File) error

	root    string // of the server
	account string
	stream  string
	folder  string // of the stream
	dir     string // of its blocks

	mu        sync.Mutex     // of what follows
	watermark *watermarkFile // since Recover
	opened    bool
	newest    int      // the block that Flush syncs
	file      *os.File // of it; kept open, so that no write error is reported elsewhere
}

const (
	blockSuffix = ".blk"
	indexFile   = "index.db"
)

// ErrNoBlock: the server has not stored anything yet. It leaves the flush as it was.
var ErrNoBlock = errors.New("no message block")

// New describes the blocks of one stream below the server's root; it touches nothing.
func New(root, account, stream string) *Store {
	folder := filepath.Join(root, "jetstream", account, "streams", stream)
	return &Store{SyncBlock: SyncData, root: root, account: account, stream: stream, folder: folder, dir: filepath.Join(folder, "msgs")}
}

// Of is the store of another stream of the same server.
func (s *Store) Of(stream string) *Store { return New(s.root, s.account, stream) }

// Root is the server's folder.
func (s *Store) Root() string { return s.root }

// Remove deletes the stream, which no server may have open.
func (s *Store) Remove() error { return os.RemoveAll(s.folder) }

func (s *Store) block(number int) string {
	return filepath.Join(s.dir, strconv.Itoa(number)+blockSuffix)
}

// blocks returns the numbers of all blocks, in order.
func (s *Store) blocks() (numbers []int, err error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list the log's blocks: %w", err)
	}
	for _, entry := range entries {
		if number, isBlock := blockNumber(entry.Name()); isBlock {
			numbers = append(numbers, number)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

// blockNumber of a file's name, as the server writes it.
func blockNumber(name string) (number int, isBlock bool) {
	text, isBlock := strings.CutSuffix(name, blockSuffix)
	number, err := strconv.Atoi(text)
	return number, isBlock && err == nil && number > 0 && strconv.Itoa(number) == text
}

// newestOf blocks in order; 0 where there is none.
func newestOf(blocks []int) int {
	if len(blocks) == 0 {
		return 0
	}
	return blocks[len(blocks)-1]
}
