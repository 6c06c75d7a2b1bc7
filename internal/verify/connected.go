package verify

import (
	"strconv"
	"strings"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/tables"
)

// customers is the customers that out-of-order events connect: these events, all
// others that share a name with them, directly or through others, and all their names.
// What a fold of the whole log makes of these names, a fold of these events alone makes,
// too, for no other event reads or writes a row of theirs.
//
// Not for concurrent use.
type customers struct {
	seeds map[uint64]struct{} // sequences to begin with
	names map[eventName]struct{}
	seqs  map[uint64]struct{}
}

// eventName is a name under which an event finds rows.
type eventName struct {
	kind tables.NameKind
	name string
}

// connectedBy returns the customers that the messages at these sequences connect. They are
// none until the log was read with Add.
func connectedBy(seqs []uint64) *customers {
	c := &customers{seeds: map[uint64]struct{}{}, names: map[eventName]struct{}{}, seqs: map[uint64]struct{}{}}
	c.Seed(seqs)
	return c
}

// Seed adds messages to begin with.
func (c *customers) Seed(seqs []uint64) {
	for _, seq := range seqs {
		c.seeds[seq] = struct{}{}
	}
}

// Add takes an event in that is one of these customers', and says whether it brings a
// name that was not known before. Then events before it may be theirs, too.
func (c *customers) Add(e events.Event) (grew bool) {
	if _, seen := c.seqs[e.Seq]; seen {
		return false
	}
	_, connected := c.seeds[e.Seq]
	tables.EachName(e, func(kind tables.NameKind, name string) { connected = connected || c.has(kind, name) })
	if !connected {
		return false
	}
	c.seqs[e.Seq] = struct{}{}
	tables.EachName(e, func(kind tables.NameKind, name string) {
		if name != "" && !c.has(kind, name) {
			c.names[eventName{kind, strings.Clone(name)}] = struct{}{}
			grew = true
		}
	})
	return grew
}

func (c *customers) has(kind tables.NameKind, name string) bool {
	_, has := c.names[eventName{kind, name}]
	return has
}

// Has says whether the message is one of these customers'.
func (c *customers) Has(seq uint64) bool {
	_, has := c.seqs[seq]
	return has
}

// Seqs lists the messages, in no order.
func (c *customers) Seqs() []uint64 {
	out := make([]uint64, 0, len(c.seqs))
	for seq := range c.seqs {
		out = append(out, seq)
	}
	return out
}

// Len is the number of messages.
func (c *customers) Len() int { return len(c.seqs) }

func (c *customers) named(kind tables.NameKind) (out []string) {
	for n := range c.names {
		if n.kind == kind {
			out = append(out, n.name)
		}
	}
	return out
}

// Explains says whether the row is one of these customers'.
func (c *customers) Explains(d Difference) bool {
	key := keyOf(d.Table)
	if key == tables.OfMessage {
		seq, err := strconv.ParseUint(d.first, 10, 64)
		return err == nil && c.Has(seq)
	}
	user, implicit := strings.CutPrefix(d.first, projections.ImplicitSubscription(""))
	return c.has(key, d.first) || key == tables.OfSubscription && implicit && c.has(tables.OfUser, user)
}

// keyOf is what the first column of a table's key is.
func keyOf(table string) tables.NameKind {
	for _, t := range tables.All {
		if t.About().Name == table {
			return t.About().Key
		}
	}
	return 0
}
