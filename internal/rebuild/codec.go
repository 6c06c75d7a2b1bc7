package rebuild

import (
	"encoding/binary"
	"time"

	"github.com/payfold/payfold/internal/events"
)

// coder writes or reads the facts of an event.
type coder interface {
	text(*string)
	number(*int64)
	flag(*bool)
}

// code visits what the rules read of an event, always in the same order. Key is left out: it only decides the bucket.
func code(c coder, e *events.Event) {
	seq := int64(e.Seq)
	c.number(&seq)
	e.Seq = uint64(seq)
	for _, t := range []*string{
		&e.Provider, &e.ID, &e.Type, (*string)(&e.Action), &e.Kind, &e.UserID, &e.ProductKey, &e.Product, &e.GitHubUser, (*string)(&e.Mode),
		&e.Transaction, &e.Order, &e.Currency, &e.SubscriptionID, &e.Status,
		&e.Reversal.ID, (*string)(&e.Reversal.Cause), (*string)(&e.Reversal.Status),
	} {
		c.text(t)
	}
	for _, t := range []*time.Time{&e.ReceivedAt, &e.OccurredAt, &e.PeriodStart, &e.PeriodEnd, &e.CanceledAt} {
		codeTime(c, t)
	}
	for _, n := range []*events.Number{&e.Credits, &e.Units, &e.Amount, &e.Reversal.Amount, &e.Reversal.Total, &e.Reversal.Paid} {
		codeNumber(c, n)
	}
	for _, b := range []*bool{&e.Unreadable, &e.InvalidText, &e.InvalidPayment, &e.AmountOfTransaction, &e.Unpaid, &e.Trial, &e.Prorated, &e.Recurring} {
		c.flag(b)
	}
	items := int64(len(e.Items))
	c.number(&items)
	if len(e.Items) == 0 && items > 0 {
		e.Items = make([]events.Item, items)
	}
	for i := range e.Items {
		item := &e.Items[i]
		c.text(&item.Product)
		c.text(&item.Price)
		codeNumber(c, &item.Units)
		codeNumber(c, &item.Amount)
		c.flag(&item.Prorated)
	}
}

func codeTime(c coder, t *time.Time) {
	known := !t.IsZero()
	if c.flag(&known); !known {
		return
	}
	seconds, rest := t.Unix(), int64(t.Nanosecond())
	c.number(&seconds)
	c.number(&rest)
	*t = time.Unix(seconds, rest).UTC()
}

func codeNumber(c coder, n *events.Number) {
	if c.flag(&n.Present); n.Present {
		c.flag(&n.Bad)
		c.number(&n.Value)
	}
}

// encoder appends facts.
type encoder struct{ out []byte }

func (w *encoder) text(t *string) {
	w.out = append(binary.AppendUvarint(w.out, uint64(len(*t))), *t...)
}
func (w *encoder) number(n *int64) { w.out = binary.AppendVarint(w.out, *n) }
func (w *encoder) flag(b *bool) {
	if *b {
		w.out = append(w.out, 1)
		return
	}
	w.out = append(w.out, 0)
}

// decoder reads facts. The texts of its events are parts of all.
type decoder struct {
	all string
	at  int
}

func (r *decoder) text(t *string) {
	var length int64
	r.unsigned(&length)
	*t = r.all[r.at : r.at+int(length)]
	r.at += int(length)
}

func (r *decoder) number(n *int64) {
	r.unsigned(n)
	*n = int64(uint64(*n)>>1) ^ -(*n & 1)
}

func (r *decoder) flag(b *bool) {
	*b = r.all[r.at] != 0
	r.at++
}

func (r *decoder) unsigned(n *int64) {
	value := uint64(0)
	for shift := 0; ; shift += 7 {
		b := r.all[r.at]
		r.at++
		if value |= uint64(b&0x7f) << shift; b < 0x80 {
			*n = int64(value)
			return
		}
	}
}

// eventReader reads records of an encoder, one at a time.
type eventReader struct {
	from  decoder
	event events.Event
}

// read returns the event of a record. It is valid until the next call.
func (r *eventReader) read(record string) *events.Event {
	r.from, r.event = decoder{all: record}, events.Event{}
	code(&r.from, &r.event)
	return &r.event
}

// sequence reads only the sequence of an event.
func sequence(record string) uint64 {
	var seq int64
	(&decoder{all: record}).number(&seq)
	return uint64(seq)
}
