package archive

import (
	"context"

	"github.com/payfold/payfold/internal/archive/storage"
)

// Logs lists the logs that have segments in a place.
func Logs(ctx context.Context, place storage.Place) (logs []string, err error) {
	folders, err := place.List(ctx, "")
	if err != nil {
		return nil, err
	}
	for _, folder := range folders {
		names, err := place.List(ctx, folder)
		if err != nil {
			return nil, err
		}
		if len(newCandidates(names)) > 0 {
			logs = append(logs, folder)
		}
	}
	return logs, nil
}

// RequireAlone returns a ContradictionError if the place holds segments of another log.
func RequireAlone(ctx context.Context, place storage.Place, logID string) error {
	logs, err := Logs(ctx, place)
	if err != nil {
		return err
	}
	for _, other := range logs {
		if other != logID {
			return contradiction("%s holds segments of log %s, and this is log %s; each log needs a place of its own", place, other, logID)
		}
	}
	return nil
}
