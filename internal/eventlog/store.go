package eventlog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// store is the embedded server's folder of message blocks, of which this file
// alone knows the layout: 1.blk, 2.blk, …, the newest being written.
type store struct {
	dir string

	mu       sync.Mutex
	begun    atomic.Uint64
	finished uint64
	failed   error // for good: after a failed fsync a second one may lie
}

func newStore(dir string) *store { return &store{dir: dir} }

// flush returns when the newest block and its directory are durable, by a flush
// that began after the call. Callers that wait together share one.
func (s *store) flush() error {
	need := s.begun.Load() + 1
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		return s.failed
	}
	if s.finished >= need {
		return nil
	}
	number := s.begun.Add(1)
	if err := s.syncNewest(); err != nil {
		s.failed = err
		return err
	}
	s.finished = number
	return nil
}

func (s *store) syncNewest() error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return fmt.Errorf("list the log's blocks: %w", err)
	}
	newest := 0
	for _, entry := range entries {
		name, isBlock := strings.CutSuffix(entry.Name(), ".blk")
		if number, err := strconv.Atoi(name); isBlock && err == nil {
			newest = max(newest, number)
		}
	}
	if newest == 0 {
		return fmt.Errorf("no message block in %s", s.dir)
	}
	if err := syncFile(filepath.Join(s.dir, strconv.Itoa(newest)+".blk")); err != nil {
		return err
	}
	return syncFile(s.dir)
}

// syncTree makes every file and directory below dir durable, and the entries that lead to it.
func syncTree(parent, dir string) error {
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() || entry.Type().IsRegular() {
			return syncFile(path)
		}
		return nil
	})
	return errors.Join(err, syncFile(parent))
}

func syncFile(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := file.Sync(); err != nil {
		return fmt.Errorf("fsync %s: %w", path, err)
	}
	return nil
}
