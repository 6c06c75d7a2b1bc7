// Package products compares a catalogue with what was bought, and with the catalogue of the live tables.
package products

import (
	"cmp"
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/catalogue"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
)

// Answer says what a catalogue would mean for the live tables.
type Answer struct {
	Needs   Need     `json:"needs"`
	Added   []string `json:"added"`   // products that the catalogue of the tables lacks
	Changed []string `json:"changed"` // products whose offers are others
	Removed []string `json:"removed"` // products that only the catalogue of the tables has
	Missing []Bought `json:"missing"` // bought, and neither catalogue has it
	Unclear []Bought `json:"unclear"` // likewise, but events name it or others by names that the new catalogue adds
	Named   []string `json:"named"`   // these names, such as prices of a product
	Granted []Bought `json:"granted"` // bought, and only the new catalogue has it
}

// Need is what makes a catalogue that of the live tables.
type Need string

// The needs.
const (
	Nothing Need = "nothing" // it is their catalogue
	Restart Need = "restart" // of the projectors, because it only adds products that no event has named
	Rebuild Need = "rebuild"
)

// Bought are the purchases of one product that grant nothing under the catalogue of the tables.
type Bought struct {
	Product   string           `json:"product_key"`
	Kind      catalogue.Kind   `json:"kind"` // in the new catalogue; empty: it does not have the product
	Purchases int              `json:"purchases"`
	Buyers    int              `json:"buyers"`
	Refunded  int              `json:"refunded"` // purchases of which nothing is left; they grant nothing
	Userless  int              `json:"userless"` // other purchases whose user is not known yet; likewise
	Amounts   map[string]int64 `json:"amounts"`  // currency → in its minor unit
	Credits   int64            `json:"credits"`  // that the new catalogue grants for them, each taken alone

	users map[string]struct{}
}

// Check reads the live tables at one moment.
func Check(ctx context.Context, s *store.Store, sold *catalogue.Catalogue) (out Answer, err error) {
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err = pgx.BeginTxFunc(ctx, s.Pool(), options, func(tx pgx.Tx) error {
		used, err := store.LiveCatalogue(ctx, tx)
		if err != nil {
			return err
		}
		if err := out.compare(ctx, tx, used, sold.Summary()); err != nil {
			return err
		}
		return out.readBought(ctx, tx, sold)
	})
	return out, err
}

// compare sets what differs from the catalogue of the tables, which may have none.
func (a *Answer) compare(ctx context.Context, tx pgx.Tx, used *catalogue.Summary, sold catalogue.Summary) error {
	if a.Needs = Rebuild; used == nil {
		a.Added, _, _ = sold.Compare(catalogue.Summary{})
		return nil
	}
	a.Added, a.Changed, a.Removed = sold.Compare(*used)
	if sold.ID() == used.ID() {
		a.Needs = Nothing
		return nil
	}
	if _, extends := sold.Extends(*used); !extends {
		return nil
	}
	named, err := store.UnlistedIn(ctx, tx, a.Added)
	if err == nil && len(named) == 0 {
		a.Needs = Restart
	}
	return err
}

// readBought reads the purchases of products that the catalogue of the tables lacks.
func (a *Answer) readBought(ctx context.Context, tx pgx.Tx, sold *catalogue.Catalogue) error {
	payments, err := tables.Payments.Rows(ctx, tx, "where paid and not known and product_key is not null")
	if err != nil {
		return err
	}
	subscriptions, err := subscriptionsOf(ctx, tx, payments)
	if err != nil {
		return err
	}
	all := map[string]*Bought{}
	for i := range payments {
		p := &payments[i]
		b := all[p.ProductKey]
		if b == nil {
			b = &Bought{Product: p.ProductKey, Amounts: map[string]int64{}, users: map[string]struct{}{}}
			all[p.ProductKey] = b
		}
		b.add(p, subscriptions, projections.Rules{Catalogue: sold})
	}
	named, err := store.UnlistedIn(ctx, tx, a.Added)
	if err != nil {
		return err
	}
	a.Named = slices.DeleteFunc(named, func(name string) bool { return all[name] != nil })
	for _, b := range all {
		b.Buyers = len(b.users)
		switch {
		case sold.Sells(b.Product):
			a.Granted = append(a.Granted, *b)
		case len(a.Named) > 0: // the tables do not keep by which other names a payment's event calls the product
			a.Unclear = append(a.Unclear, *b)
		default:
			a.Missing = append(a.Missing, *b)
		}
	}
	for _, list := range [][]Bought{a.Missing, a.Unclear, a.Granted} {
		slices.SortFunc(list, func(a, b Bought) int {
			return cmp.Or(cmp.Compare(b.Purchases, a.Purchases), cmp.Compare(a.Product, b.Product))
		})
	}
	return nil
}

// subscriptionsOf reads the subscriptions that the payments name, by id: a renewal may name only its subscription.
func subscriptionsOf(ctx context.Context, tx pgx.Tx, payments []projections.Payment) (map[string]*projections.SubscriptionState, error) {
	named := tables.Set{}
	for i := range payments {
		named.Add(payments[i].Subscriptions()...)
	}
	rows, err := tables.SubscriptionStates.Rows(ctx, tx, "where subscription_id = any($1)", named.List())
	if err != nil {
		return nil, err
	}
	all := map[string]*projections.SubscriptionState{}
	for i := range rows {
		all[rows[i].SubscriptionID] = &rows[i]
	}
	return all, nil
}

func (b *Bought) add(p *projections.Payment, subscriptions map[string]*projections.SubscriptionState, rules projections.Rules) {
	b.Purchases++
	if offer := rules.Catalogue.Offer(p.ProductKey, p.OccurredAt); offer != nil {
		b.Kind = offer.Kind
	}
	if p.Amount != nil {
		b.Amounts[p.Currency] += *p.Amount
	}
	users := p.Users()
	for _, subscription := range p.Subscriptions() {
		if of := subscriptions[subscription]; len(users) == 0 && of != nil && of.UserID != "" {
			users = []string{of.UserID}
		}
	}
	if len(users) > 0 {
		b.users[users[0]] = struct{}{}
	}
	switch {
	case !p.ReversedAt.IsZero():
		b.Refunded++
		return
	case len(users) == 0:
		b.Userless++
		return
	}
	b.Credits += rules.CreditsAlone(p, subscriptions[p.SubscriptionID])
}
