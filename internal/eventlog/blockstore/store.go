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
)

// Store is the folder of one stream's blocks. The server writes only into the newest block
// of 1.blk, 2.blk, …; the others no longer change. index.db saves the server from reading
// them all.
//
// The server writes a message into its block before it acknowledges it, and does not sync.
// Every message that was confirmed to somebody lies at or below the durable watermark.
type Store struct {
	root   string // the server's folder
	stream string
	folder string // the stream's folder
	dir    string // the folder of its blocks
}

const blockSuffix = ".blk"

// New returns the store of one stream in the server's folder root. It opens no file.
func New(root, account, stream string) *Store {
	folder := filepath.Join(root, "jetstream", account, "streams", stream)
	return &Store{root: root, stream: stream, folder: folder, dir: filepath.Join(folder, "msgs")}
}

// Root returns the server's folder.
func (s *Store) Root() string { return s.root }

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

// blockNumber parses the name of a block's file.
func blockNumber(name string) (number int, isBlock bool) {
	text, isBlock := strings.CutSuffix(name, blockSuffix)
	number, err := strconv.Atoi(text)
	return number, isBlock && err == nil && number > 0 && strconv.Itoa(number) == text
}

// from returns the blocks from number block on, of sorted blocks.
func from(block int, blocks []int) []int {
	at, _ := slices.BinarySearch(blocks, block)
	return blocks[at:]
}

// newestOf returns the last of the sorted blocks; 0 if there is none.
func newestOf(blocks []int) int {
	if len(blocks) == 0 {
		return 0
	}
	return blocks[len(blocks)-1]
}
