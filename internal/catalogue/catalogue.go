// Package catalogue has what the seller's products grant. So a buyer who edits the metadata of
// a checkout link gets nothing more.
package catalogue

import (
	"slices"
	"time"
)

// Kind is what is sold.
type Kind = string

// The kinds.
const (
	Subscription Kind = "subscription"
	OneTime      Kind = "one_time"
	Pro          Kind = "pro"
	None         Kind = "none" // sold, and grants nothing
)

// Catalogue has the offers of all products. A nil Catalogue has none. Only claims use it.
type Catalogue struct {
	Version  int
	ID       string             // of what the rules read of it; see Summary
	products map[string][]Offer // by product key; the latest offer first
}

// Offer is what a product grants from a certain time on. Its JSON is what the rules read. The name and the prices of a
// product in the file are for people.
type Offer struct {
	From         time.Time `json:"from,omitzero"` // zero: always
	Kind         Kind      `json:"kind"`
	Credits      int64     `json:"credits,omitzero"`       // of each ledger line, for one unit; 0: none
	Months       int64     `json:"months,omitzero"`        // ledger lines, one a month; 1 without a drip
	ValidMonths  int64     `json:"valid_months,omitzero"`  // until the credits expire; 0: never
	TrialCredits int64     `json:"trial_credits,omitzero"` // of a payment of 0 that begins a trial, for one unit; 0: none

	LastsAsSubscription bool  `json:"lasts_as_subscription,omitzero"` // a licence ends with its subscription
	GraceDays           int64 `json:"grace_days,omitzero"`            // access goes on after a payment failed
}

// MaxUnits returns how many units of the product one payment can have: its ledger lines have at most MaxCredits each.
// Without an offer, units are bounded alone.
func (o *Offer) MaxUnits() int64 {
	if o == nil {
		return MaxCredits
	}
	return MaxCredits / max(o.Credits, o.TrialCredits, 1)
}

// Sells reports whether the catalogue has any offer of the product.
func (c *Catalogue) Sells(product string) bool {
	return c != nil && len(c.products[product]) > 0
}

// Changes reports whether the catalogue has several offers of the product, each from another time on.
func (c *Catalogue) Changes(product string) bool {
	return c != nil && len(c.products[product]) > 1
}

// Offer returns the product's offer at that time; nil if there is none.
func (c *Catalogue) Offer(product string, at time.Time) *Offer {
	if c == nil {
		return nil
	}
	offers := c.products[product]
	for i := range offers {
		if !offers[i].From.After(at) {
			return &offers[i]
		}
	}
	return nil
}

// EndsLicences reports whether there are licences that end with their subscription.
func (c *Catalogue) EndsLicences() bool {
	if c == nil {
		return false
	}
	for _, offers := range c.products {
		if slices.ContainsFunc(offers, func(o Offer) bool { return o.LastsAsSubscription }) {
			return true
		}
	}
	return false
}
