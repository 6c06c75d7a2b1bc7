package explain

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/proof"
)

// Prove returns the proof that the event of an answer of Ask is in the log, for a signed
// checkpoint. The error is a proof.RefusedError in the cases of proof.Prove. It is another error if
// the tables are not those of the log.
func Prove(ctx context.Context, log proof.Log, about Question, answer Answer, keys proof.Verifiers, signed []byte, progress proof.Progress) (proof.Proof, error) {
	seq, err := sequence(about, answer)
	if err != nil {
		return proof.Proof{}, err
	}
	proven, m, err := proof.Prove(ctx, log, keys, signed, seq, progress)
	if err == nil && about.EventID != "" && !slices.Contains(events.PossibleIDs(about.EventID), m.ID) {
		err = fmt.Errorf("the message at seq %d is event %q: the tables are not those of this log", seq, m.ID)
	}
	return proven, err
}

// sequence returns the sequence of the message that was asked for.
func sequence(about Question, answer Answer) (uint64, error) {
	if about.Seq != 0 {
		return about.Seq, nil
	}
	if event, ok := answer.(Event); ok {
		return uint64(event.Event.StreamSeq), nil
	}
	return 0, errors.New("the answer is not about one event")
}
