package reconcile

import (
	"cmp"
	"fmt"
	"time"

	"github.com/payfold/payfold/internal/providerapi"
	"github.com/payfold/payfold/internal/report/page"
)

// pullMargin is how long before an object's time its event is asked for. Providers' clocks and ours differ.
const pullMargin = time.Hour

// repair says what repairs a difference: a command, or where the way is described.
func (c *run) repair(d *Difference) string {
	order := ""
	if d.byOrder {
		order = " --order"
	}
	switch d.What {
	case UnknownPayment:
		return fmt.Sprintf("projector explain %s shows its event; ingest take --user %s --payment %s%s --all --reason 'WHY' "+
			"takes it back", page.Word(d.Event), page.Word(cmp.Or(d.User, "USER")), page.Word(d.Payment), order)
	case UnknownSubscription, UnknownRefund, OtherAmount:
		return fmt.Sprintf("projector explain %s shows its event; one of your own corrects it: docs/by-hand.md",
			page.Word(d.Event))
	case MissingPayment:
		if d.Outcome != "" {
			return fmt.Sprintf("projector explain %s shows why", page.Word(d.Event))
		}
	}
	name, since := c.of.API.Provider, d.changed.Add(-pullMargin).Truncate(time.Second)
	switch keeps := c.of.API.Kept(); {
	case keeps == 0:
		return fmt.Sprintf("send its event again from the dashboard; ingest pull %s gets it if it still waits there", name)
	case d.changed.IsZero():
		return fmt.Sprintf("ingest pull %s --since %s", name,
			c.began.Add(pullMargin-keeps).Truncate(time.Second).Format(time.RFC3339))
	case c.began.Sub(since) < keeps:
		return fmt.Sprintf("ingest pull %s --since %s", name, since.Format(time.RFC3339))
	case d.kind == providerapi.Subscriptions: // not every provider says when its status changed
		return fmt.Sprintf("ingest pull %s --since %s; if it stays: an event of your own, docs/by-hand.md#anything-else",
			name, c.began.Add(pullMargin-keeps).Truncate(time.Second).Format(time.RFC3339))
	case d.What == MissingPayment:
		return fmt.Sprintf("its event is too old for ingest pull: ingest complete %s%s --user %s --bought %s --reason 'WHY'",
			page.Word(d.Payment), order, page.Word(cmp.Or(d.User, "USER")), d.At.Format(time.RFC3339))
	}
	return "its event is too old for ingest pull: an event of your own, docs/by-hand.md#anything-else"
}
