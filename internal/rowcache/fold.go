package rowcache

import (
	"context"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
)

// Read reads from the source the rows that these events can touch, except rows that it has read
// before. The events must be in the order of the log. The caller must give the result to Take
// before it folds any of these events. Read may run concurrently with all other methods.
func (c *Cache) Read(ctx context.Context, some []events.Event) (*projections.State, error) {
	return c.source.load(ctx, some, false)
}

// ReadAgain is Read for events whose rows may have been read for later events, but are not taken yet.
func (c *Cache) ReadAgain(ctx context.Context, some []events.Event) (*projections.State, error) {
	return c.source.load(ctx, some, true)
}

// Take adds the rows that were read and are not here yet.
func (c *Cache) Take(read *projections.State) {
	for _, id := range read.Events.Seen() {
		c.events.add(EventIDOf(id))
	}
	for _, one := range c.tables {
		one.take(read)
		c.listAll()
	}
	for _, payment := range read.Payments.Rows() {
		if payment.Kind == projections.KindPro {
			c.source.tookLicenses(payment.UserID) // Read reads all of them together
		}
	}
}

// Fold folds a batch into the cache, after Take if there is a source. seen lists the ids of its
// events that came in an earlier batch. Afterwards state has what the batch has changed, until the
// next Fold. The error may be a store.RefusedError. After any error the cache must not be used.
func (c *Cache) Fold(ctx context.Context, rules projections.Rules, state *projections.State, batch []events.Event, seen []string) error {
	state.Reset()
	c.load(state, batch)
	if err := c.complete(ctx, rules, state, batch); err != nil {
		return err
	}
	for _, id := range seen {
		state.Events.Load(id)
	}
	for _, event := range batch {
		if err := store.Fold(rules, state, event); err != nil {
			return err
		}
	}
	c.keep(state)
	return nil
}

// complete adds the payments that the fold needs because of the loaded rows, also those that the source may have: all
// payments of a subscription of which an event says something else than its row, and all pro payments of a user. Read
// has looked up only what rows of the tables need. Rows that a fold has made may need others.
func (c *Cache) complete(ctx context.Context, rules projections.Rules, state *projections.State, batch []events.Event) error {
	if resold := rules.Resold(state, batch); len(resold) > 0 {
		if c.source != nil {
			read, err := c.source.loadPaymentsOf(ctx, resold)
			if err != nil {
				return err
			}
			c.Take(read)
			state.Reset()
			c.load(state, batch) // again, because rows that are here already lead to rows that were read only now
		}
		for _, subscription := range resold {
			c.loadNamed(state, tables.PaymentsOf(subscription))
		}
	}
	for len(c.licensed) > 0 {
		users := c.licensed.List()
		clear(c.licensed)
		read, err := c.source.loadLicenses(ctx, users)
		if err != nil {
			return err
		}
		c.Take(read)
		for _, user := range users {
			c.loadNamed(state, tables.ProPaymentsOf(user))
		}
	}
	return nil
}
