package webhook

import (
	"context"
	"time"

	"github.com/payfold/payfold/internal/events"
)

// A provider's time that is further ahead of ingest's clock means that one of the two clocks is wrong. Synchronised
// clocks differ by less than a second.
const maxClockAhead = time.Minute

// checkClock warns of a delivery whose event is ahead of ingest's clock. Its time counts all the same.
func (h *Handler) checkClock(ctx context.Context, d *events.Delivery) {
	ahead := d.Event.OccurredAt.Sub(d.ReceivedAt)
	if ahead <= maxClockAhead {
		return
	}
	h.metrics.clockAhead.WithLabelValues(d.Provider).Inc()
	h.clockAhead[d.Provider].log(ctx, h.Logger, d.ReceivedAt,
		"an event is ahead of this server's clock; is the clock synchronised?",
		"provider", d.Provider, "event_id", d.Event.ID, "ahead_seconds", int64(ahead/time.Second))
}
