package webhook

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
)

func TestWithoutTracesADeliveryAllocatesNothingForThem(t *testing.T) {
	h, began := &Handler{}, time.Now()
	d := events.Delivery{TraceParent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", TraceState: "a=b"}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		span := h.startSpan(&d, began)
		span.setEvent(d.Event)
		appending := span.startAppend(&d)
		appending.end(false, nil)
		span.end(accepted)
	}))
}
