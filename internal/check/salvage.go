package check

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"github.com/payfold/payfold/internal/durable"
	"github.com/payfold/payfold/internal/eventlog"
)

// salvage writes every undamaged event to a new file, one JSON object a line, durably. The file
// must not exist yet. It returns the number of events.
func salvage(ctx context.Context, files *eventlog.Files, path string) (saved int, err error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	out := bufio.NewWriterSize(file, 1<<20)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	err = files.Salvage(ctx, func(event eventlog.Salvaged) error {
		saved++
		return encoder.Encode(event)
	})
	if err != nil {
		return saved, err
	}
	if err := out.Flush(); err != nil {
		return saved, err
	}
	if err := file.Sync(); err != nil {
		return saved, err
	}
	return saved, durable.Sync(filepath.Dir(path))
}
