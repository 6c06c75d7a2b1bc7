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

// poisoned counts the events that this process found refused.
type poisoned int

func (n *poisoned) add(ctx context.Context, tables *store.Store, logger *slog.Logger, refused *store.RefusedError) error {
	if *n >= mostPoison {
		return fmt.Errorf("the database refuses more than %d events, so it is not the events: %w", mostPoison, refused.Cause)
	}
	if err := tables.Poison(ctx, refused.Seq, refused.Cause); err != nil {
		return err
	}
	*n++
	logger.ErrorContext(ctx, "an event is refused by the database and was rejected", "seq", refused.Seq, "error", refused.Cause)
	return nil
}
