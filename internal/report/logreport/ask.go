package logreport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/payfold/payfold/internal/telemetry"
)

// ErrNotIngest means that another program answered.
var ErrNotIngest = errors.New("the answer is not the state of ingest")

// AskIngest asks the ingest whose ADMIN_ADDR is addr for its state, also while it starts.
func AskIngest(ctx context.Context, addr string) (state Ingest, err error) {
	answer, err := telemetry.Ask(ctx, addr, "/status")
	if err != nil {
		return Ingest{}, err
	}
	if err := json.Unmarshal(answer, &state); err != nil {
		return Ingest{}, fmt.Errorf("%w: %w", ErrNotIngest, err)
	}
	if state.StartedAt.IsZero() {
		return Ingest{}, fmt.Errorf("%w: it has no start time", ErrNotIngest)
	}
	return state, nil
}
