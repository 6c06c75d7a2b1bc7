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

// poison records that an event is refused. The next fold rejects it.
func (p *Projector) poison(ctx context.Context, refused *store.RefusedError) error {
	if err := p.poisoned.add(ctx, p.Store, p.Logger, refused); err != nil {
		return err
	}
	p.metrics.poison.Inc()
	return nil
}

// poisoned are the events that this process found refused.
type poisoned map[uint64]bool

// add records a refused event. Where the record of its rejection is refused as
// well, it is not the event: then it takes that back and returns why.
func (p *poisoned) add(ctx context.Context, tables *store.Store, logger *slog.Logger, refused *store.RefusedError) error {
	if *p == nil {
		*p = poisoned{}
	}
	if (*p)[refused.Seq] {
		if err := tables.Pardon(ctx, refused.Seq); err != nil {
			return err
		}
		delete(*p, refused.Seq)
		return fmt.Errorf("the database refuses even the rejection of the event at seq %d, so it is not the events: %w", refused.Seq, refused.Cause)
	}
	if len(*p) >= mostPoison {
		return fmt.Errorf("the database refuses more than %d events, so it is not the events: %w", mostPoison, refused.Cause)
	}
	if err := tables.Poison(ctx, refused.Seq, refused.Cause); err != nil {
		return err
	}
	(*p)[refused.Seq] = true
	logger.ErrorContext(ctx, "an event is refused by the database and was rejected", "seq", refused.Seq, "error", refused.Cause)
	return nil
}
