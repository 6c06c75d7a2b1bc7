package rebuild

import (
	"iter"
	"time"

	"github.com/payfold/payfold/internal/codec"
	"github.com/payfold/payfold/internal/events"
)

// code visits what the rules read of an event, always in the same order. Key is left out: it only decides the bucket.
func code(c *codec.Coder, e *events.Event) {
	seq := int64(e.Seq)
	c.Number(&seq)
	e.Seq = uint64(seq)
	for _, t := range []*string{
		&e.Provider, &e.ID, &e.Type, (*string)(&e.Action), &e.Kind, &e.UserID, &e.ProductKey, &e.Product, &e.GitHubUser, (*string)(&e.Mode),
		&e.Transaction, &e.Order, &e.Checkout, &e.Currency, &e.SubscriptionID, &e.Status,
		&e.Reversal.ID, (*string)(&e.Reversal.Cause), (*string)(&e.Reversal.Status), &e.Reversal.Currency,
	} {
		c.Text(t)
	}
	for _, t := range []*time.Time{&e.ReceivedAt, &e.OccurredAt, &e.PeriodStart, &e.PeriodEnd, &e.CanceledAt, &e.Expires, &e.Extended} {
		c.Time(t)
	}
	for _, n := range []*events.Number{&e.Credits, &e.Units, &e.Amount, &e.Reversal.Amount, &e.Reversal.Total, &e.Reversal.Paid, &e.Reversal.Credits} {
		codeNumber(c, n)
	}
	for _, b := range []*bool{&e.Unreadable, &e.InvalidText, &e.InvalidPayment, &e.AmountOfTransaction, &e.Unpaid, &e.Trial, &e.Prorated, &e.Recurring, &e.Given, &e.Begins, &e.MayBeginTrial} {
		c.Flag(b)
	}
	items := int64(len(e.Items))
	c.Number(&items)
	if len(e.Items) == 0 && items > 0 {
		e.Items = make([]events.Item, items)
	}
	for i := range e.Items {
		item := &e.Items[i]
		c.Text(&item.Product)
		c.Text(&item.Price)
		codeNumber(c, &item.Units)
		codeNumber(c, &item.Amount)
		c.Flag(&item.Prorated)
		c.Time(&item.PeriodStart)
		c.Time(&item.PeriodEnd)
	}
}

func codeNumber(c *codec.Coder, n *events.Number) {
	if c.Flag(&n.Present); n.Present {
		c.Flag(&n.Bad)
		c.Number(&n.Value)
	}
}

// eventReader reads records, one at a time.
type eventReader struct {
	from  codec.Coder
	event events.Event
}

// read returns the event of a record. It is valid until the next call. The records are this process's own: it panics if
// one was changed.
func (r *eventReader) read(record string) *events.Event {
	r.from, r.event = codec.Reader(record), events.Event{}
	code(&r.from, &r.event)
	if err := r.from.Err(); err != nil {
		panic(err)
	}
	return &r.event
}

// all yields the events of the records.
func (r *eventReader) all(records []string) iter.Seq[events.Event] {
	return func(yield func(events.Event) bool) {
		for _, record := range records {
			if !yield(*r.read(record)) {
				return
			}
		}
	}
}

// sequence reads only the sequence of an event.
func sequence(record string) uint64 {
	var seq int64
	from := codec.Reader(record)
	from.Number(&seq)
	return uint64(seq)
}
