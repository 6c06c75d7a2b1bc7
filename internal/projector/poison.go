package projector

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/payfold/payfold/internal/store"
)

// mostPoison bounds what one process takes for bad events. More than that is a
// bad database, such as one with a constraint that is not payfold's.
const mostPoison = 100

// poisoned are the events that this process found refused.
type poisoned struct {
	refused  store.Refused // not recorded yet: the next fold of each does that
	recorded int
}

// add takes a refused event for a bad one. Where its rejection is refused as well,
// it is not the event, and add returns why.
func (p *poisoned) add(refused *store.RefusedError) error {
	if p.refused == nil {
		p.refused = store.Refused{}
	}
	if _, again := p.refused[refused.Seq]; again {
		delete(p.refused, refused.Seq)
		return fmt.Errorf("the database refuses even the rejection of the event at seq %d, so it is not the events: %w", refused.Seq, refused.Cause)
	}
	if p.recorded+len(p.refused) >= mostPoison {
		return fmt.Errorf("the database refuses more than %d events, so it is not the events: %w", mostPoison, refused.Cause)
	}
	p.refused[refused.Seq] = refused.Cause
	return nil
}

// folded says that an event was folded for good, and whether that was its rejection.
func (p *poisoned) folded(ctx context.Context, logger *slog.Logger, seq uint64) bool {
	cause, rejected := p.refused[seq]
	if rejected {
		delete(p.refused, seq)
		p.recorded++
		logger.ErrorContext(ctx, "an event is refused by the database and was rejected", "seq", seq, "error", cause)
	}
	return rejected
}
