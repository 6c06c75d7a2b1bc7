package archive_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/payfold/payfold/internal/archive/storage"
)

// stepping is a folder that calls Step, if it is set, before each change, and after an object was created. After an error of
// Step nothing more is changed, as if the process had been killed.
type stepping struct {
	storage.Folder
	Step func(change string) error
}

func (s *stepping) step(change string) error {
	if s.Step == nil {
		return nil
	}
	return s.Step(change)
}

func (s *stepping) Create(ctx context.Context, name string, write func(io.Writer) error) error {
	if err := s.step("create"); err != nil {
		return err
	}
	err := s.Folder.Create(ctx, name, func(to io.Writer) error { return write(&stepWriter{to, s, filepath.Dir(name)}) })
	if err != nil {
		return err
	}
	return s.step("created")
}

// stepWriter calls Step before each write. A process that is killed there leaves a temporary file.
type stepWriter struct {
	io.Writer
	*stepping
	folder string
}

func (w *stepWriter) Write(data []byte) (int, error) {
	if err := w.step("write"); err != nil {
		return 0, errors.Join(err, os.WriteFile(filepath.Join(w.Root, w.folder, ".new-killed"), data, 0o600))
	}
	return w.Writer.Write(data)
}

func (s *stepping) Sync(ctx context.Context, folder string, objects ...string) error {
	for range objects {
		if err := s.step("sync object"); err != nil {
			return err
		}
	}
	if err := s.step("sync names"); err != nil {
		return err
	}
	return s.Folder.Sync(ctx, folder, objects...)
}

func (s *stepping) Remove(ctx context.Context, name string) error {
	if err := s.step("remove"); err != nil {
		return err
	}
	return s.Folder.Remove(ctx, name)
}
