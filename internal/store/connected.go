package store

import (
	"strconv"
	"strings"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
)

// Connected is the customers that out-of-order events connect: these events, all
// others that share a name with them, directly or through others, and all their names.
// What a fold of the whole log makes of these names, a fold of these events alone makes,
// too, for no other event reads or writes a row of theirs.
//
// Not for concurrent use.
type Connected struct {
	seeds map[uint64]struct{} // sequences to begin with
	names map[eventName]struct{}
	seqs  map[uint64]struct{}
}

// eventName is a name under which an event finds rows.
type eventName struct {
	kind nameKind
	name string
}

type nameKind int

const (
	ofEvent nameKind = iota + 1
	ofPayment
	ofSubscription
	ofUser
	ofMessage // a sequence, as text

	// What rows lead to, but no event names:
	ofStart  // a subscription that an event starts
	ofTarget // the payment that another one was merged into
	itself   // the id that a payment's reversals and ledger lines have
)

// eachName calls do with every name under which the fold of an event looks for rows; a
// name may be empty.
func eachName(e events.Event, do func(nameKind, string)) {
	do(ofEvent, e.ID)
	if !projections.HasEffect(e.Type) {
		return
	}
	do(ofPayment, e.Transaction)
	do(ofPayment, e.Order)
	if projections.IsReversal(e.Type) {
		return
	}
	do(ofSubscription, e.SubscriptionID)
	do(ofUser, e.UserID)
}

// Connect returns the customers that the messages at these sequences connect. They are
// none until the log was read with Add.
func Connect(seqs []uint64) *Connected {
	c := &Connected{seeds: map[uint64]struct{}{}, names: map[eventName]struct{}{}, seqs: map[uint64]struct{}{}}
	c.Seed(seqs)
	return c
}

// Seed adds messages to begin with.
func (c *Connected) Seed(seqs []uint64) {
	for _, seq := range seqs {
		c.seeds[seq] = struct{}{}
	}
}

// Add takes an event in that is one of these customers', and says whether it brings a
// name that was not known before. Then events before it may be theirs, too.
func (c *Connected) Add(e events.Event) (grew bool) {
	if _, seen := c.seqs[e.Seq]; seen {
		return false
	}
	_, connected := c.seeds[e.Seq]
	eachName(e, func(kind nameKind, name string) { connected = connected || c.has(kind, name) })
	if !connected {
		return false
	}
	c.seqs[e.Seq] = struct{}{}
	eachName(e, func(kind nameKind, name string) {
		if name != "" && !c.has(kind, name) {
			c.names[eventName{kind, strings.Clone(name)}] = struct{}{}
			grew = true
		}
	})
	return grew
}

func (c *Connected) has(kind nameKind, name string) bool {
	_, has := c.names[eventName{kind, name}]
	return has
}

// Has says whether the message is one of these customers'.
func (c *Connected) Has(seq uint64) bool {
	_, has := c.seqs[seq]
	return has
}

// Seqs lists the messages, in no order.
func (c *Connected) Seqs() []uint64 {
	out := make([]uint64, 0, len(c.seqs))
	for seq := range c.seqs {
		out = append(out, seq)
	}
	return out
}

// Len is the number of messages.
func (c *Connected) Len() int { return len(c.seqs) }

func (c *Connected) named(kind nameKind) (out []string) {
	for n := range c.names {
		if n.kind == kind {
			out = append(out, n.name)
		}
	}
	return out
}

// Explains says whether the row is one of these customers'.
func (c *Connected) Explains(d Difference) bool {
	key := keyOf(d.Table)
	if key == ofMessage {
		seq, err := strconv.ParseUint(d.first, 10, 64)
		return err == nil && c.Has(seq)
	}
	user, implicit := strings.CutPrefix(d.first, projections.ImplicitSubscription(""))
	return c.has(key, d.first) || key == ofSubscription && implicit && c.has(ofUser, user)
}

// keyOf is what the first column of a table's key is.
func keyOf(table string) nameKind {
	for _, t := range derived {
		if t.about().name == table {
			return t.about().key
		}
	}
	return 0
}
