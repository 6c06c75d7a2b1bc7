package explain

import (
	"context"
	"fmt"
	"slices"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/proof"
)

// Prove returns the proof that the message at seq is in the log, for a signed checkpoint. The error is a
// proof.RefusedError in the cases of proof.Prove. If id is not empty, the tables have that event at seq; it
// is an error if the log has another one.
func Prove(ctx context.Context, log proof.Log, seq uint64, id string, keys proof.Verifiers, signed []byte, progress proof.Progress) (proof.Proof, error) {
	proven, m, err := proof.Prove(ctx, log, keys, signed, seq, progress)
	if err == nil && id != "" && !slices.Contains(events.PossibleIDs(id), m.ID) {
		err = fmt.Errorf("the message at seq %d is event %q: the tables are not those of this log", seq, m.ID)
	}
	return proven, err
}
