package verify

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
)

// customers are the customers that out-of-order events connect: those events, all events
// that share a name with them, directly or through other events, and all their names. No
// other event reads or writes a row of these names. So a fold of these events alone gives
// the same rows as a fold of the whole log.
//
// It is not safe for concurrent use.
type customers struct {
	seeds  map[uint64]struct{} // sequences of the out-of-order events, and of the later ones applied before them
	names  map[eventName]struct{}
	events map[uint64]events.Event // the connected ones, by sequence
}

// eventName is a name by which the fold of an event finds rows.
type eventName struct {
	kind tables.NameKind
	name string
}

// connectedBy returns the customers that out-of-order events connect. The caller calls add
// with the events of the log until no event brings a new name.
func connectedBy(outOfOrder []store.OutOfOrderEvent) *customers {
	c := &customers{seeds: map[uint64]struct{}{}, names: map[eventName]struct{}{}, events: map[uint64]events.Event{}}
	c.seed(outOfOrder)
	return c
}

// seed adds out-of-order events.
func (c *customers) seed(outOfOrder []store.OutOfOrderEvent) {
	for _, e := range outOfOrder {
		c.seeds[e.Seq], c.seeds[e.Later] = struct{}{}, struct{}{}
	}
}

// add adds an event if it is connected, and reports whether it brings a new name. Then
// earlier events may be connected, too.
func (c *customers) add(e events.Event) (grew bool) {
	if c.hasMessage(e.Seq) {
		return false
	}
	_, connected := c.seeds[e.Seq]
	tables.EachName(e, func(kind tables.NameKind, name string) { connected = connected || c.hasName(kind, name) })
	if !connected {
		return false
	}
	c.events[e.Seq] = e
	tables.EachName(e, func(kind tables.NameKind, name string) {
		if name != "" && !c.hasName(kind, name) {
			c.names[eventName{kind, strings.Clone(name)}] = struct{}{}
			grew = true
		}
	})
	return grew
}

func (c *customers) hasName(kind tables.NameKind, name string) bool {
	_, has := c.names[eventName{kind, name}]
	return has
}

// hasMessage reports whether the message is a connected event.
func (c *customers) hasMessage(seq uint64) bool {
	_, has := c.events[seq]
	return has
}

// inOrder returns the connected events in the order of the log.
func (c *customers) inOrder() []events.Event {
	return slices.SortedFunc(maps.Values(c.events), func(a, b events.Event) int { return cmp.Compare(a.Seq, b.Seq) })
}

func (c *customers) named(kind tables.NameKind) (out []string) {
	for n := range c.names {
		if n.kind == kind {
			out = append(out, n.name)
		}
	}
	return out
}

// includes reports whether the row belongs to these customers.
func (c *customers) includes(d Difference) bool {
	kind, name := d.first.kind, d.first.name
	if kind == tables.OfMessage {
		seq, err := strconv.ParseUint(name, 10, 64)
		return err == nil && c.hasMessage(seq)
	}
	user, implicit := strings.CutPrefix(name, projections.ImplicitSubscription(""))
	return c.hasName(kind, name) || kind == tables.OfSubscription && implicit && c.hasName(tables.OfUser, user)
}
