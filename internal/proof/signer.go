package proof

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
	"golang.org/x/mod/sumdb/note"

	"github.com/payfold/payfold/internal/durable"
	"github.com/payfold/payfold/internal/fingerprint"
)

// Signer signs checkpoints of one log. It never signs two that contradict each other: each one
// covers all messages of the one before.
type Signer struct {
	key       note.Signer
	verifiers Verifiers // with this key only
	path      string    // of the key, without symbolic links
	lock      *flock.Flock
	last      *Checkpoint // nil before the first one
}

// OpenSigner opens the key in a file. Until Close nobody else can sign with it.
func OpenSigner(path string) (*Signer, error) {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	s := &Signer{path: path, lock: flock.New(path, flock.SetFlag(os.O_RDONLY))}
	held, err := s.lock.TryLock()
	if err == nil && !held {
		err = errors.New("another process is signing with it")
	}
	if err != nil {
		return nil, fmt.Errorf("lock the key %s: %w", path, err)
	}
	if s.key, s.verifiers, err = readKey(path); err == nil {
		err = s.readLast()
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Close lets others sign with the key.
func (s *Signer) Close() error { return s.lock.Close() }

// readLast reads what the key has signed last.
func (s *Signer) readLast() error {
	file := s.path + signedFile
	signed, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is missing: without the checkpoint that was signed last, this key could sign another history. Put the newest checkpoint that the key has signed into this file; if it has signed none, make the file empty", file)
	}
	if err != nil || len(signed) == 0 {
		return err
	}
	last, err := s.verifiers.Open(signed)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	s.last = &last
	return nil
}

// Sign reads the whole durable log and returns a signed checkpoint of it. The error is a
// RefusedError if the log does not begin with what was signed last. Before Sign returns a
// checkpoint, it writes it durably as the last signed checkpoint.
func (s *Signer) Sign(ctx context.Context, log Log, progress Progress) (signed []byte, err error) {
	info, err := log.Info(ctx)
	if err != nil {
		return nil, err
	}
	c := Checkpoint{Origin: s.key.Name(), LogID: info.LogID, First: info.First, Size: info.Last + 1 - info.First}
	var tree fingerprint.Tree
	if s.last != nil {
		if tree, err = treeOf(ctx, log, info, *s.last, progress); err != nil {
			return nil, fmt.Errorf("nothing was signed, because the log must begin with the checkpoint in %s: %w", s.path+signedFile, err)
		}
	}
	if err := grow(ctx, log, &tree, c.First, c.Size, progress); err != nil {
		return nil, err
	}
	c.Root = tree.Root()
	if after, err := log.Info(ctx); err != nil || after.LogID != info.LogID {
		return nil, cmp.Or(err, fmt.Errorf("nothing was signed: log %s was replaced by log %s during the reading", info.LogID, after.LogID))
	}
	if signed, err = c.sign(s.key); err != nil {
		return nil, err
	}
	if err := durable.Replace(s.path+signedFile, string(signed)); err != nil {
		return nil, fmt.Errorf("nothing was signed: %w", err)
	}
	s.last = &c
	return signed, nil
}
