package projector

import (
	"context"
	"fmt"

	"github.com/payfold/payfold/internal/store"
)

// mostPoison bounds what one process takes for bad events. More than that is a
// bad database, such as one with a constraint that is not payfold's.
const mostPoison = 100

// poison records that an event is refused. The next fold rejects it.
func (p *Projector) poison(ctx context.Context, refused *store.RefusedError) error {
	if p.poisoned >= mostPoison {
		return fmt.Errorf("the database refuses more than %d events, so it is not the events: %w", mostPoison, refused.Cause)
	}
	if err := p.Store.Poison(ctx, refused.Seq, refused.Cause); err != nil {
		return err
	}
	p.poisoned++
	p.metrics.poison.Inc()
	p.Logger.ErrorContext(ctx, "an event is refused by the database and was rejected", "seq", refused.Seq, "error", refused.Cause)
	return nil
}
