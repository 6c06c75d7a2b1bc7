package reconcile

import (
	"context"
	"fmt"
	"hash/maphash"
	"slices"
	"time"

	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/providerapi"
	"github.com/payfold/payfold/internal/store"
)

const (
	// Lag is the age from which a difference counts. Before it, the provider may still send the event: its first retries
	// are seconds to half an hour apart.
	Lag = time.Hour

	// maxDifferences bounds what is looked at a second time, because each needs a request to the provider.
	maxDifferences = 1000

	// pageSize is how many objects of the provider are compared in one transaction.
	pageSize = 100

	// sample is how many payments of the tables are asked for, when the provider has listed none or nearly none of them.
	sample = 10
)

// Log is what reconcile needs of the event log.
type Log interface {
	Info(ctx context.Context) (eventlog.Info, error)
	Message(ctx context.Context, seq uint64) (events.Message, error)
	ReadUntil(ctx context.Context, from, until uint64, deliver func(events.Message) error) error
}

// Reconcile compares the tables with a provider.
type Reconcile struct {
	API      *providerapi.Client
	Tables   *store.Store
	Log      Log
	Since    time.Time
	Now      func() time.Time
	Progress func(kind providerapi.Kind, compared int)
}

// Result is what a comparison has found.
type Result struct {
	Provider      string    `json:"provider"`
	Since         time.Time `json:"since"`
	Payments      int       `json:"payments"`      // of the provider that were compared
	Subscriptions int       `json:"subscriptions"` // likewise
	Refunds       int       `json:"refunds"`       // likewise
	Stranger      bool      `json:"stranger"`      // the provider knows none of the payments: nothing else was compared
	Asked         int       `json:"asked"`         // payments of the tables that it was asked for, and knows none of

	Differences int  `json:"differences"` // that count
	OnItsWay    int  `json:"on_its_way"`  // that are only the provider's or the projector's lag
	More        bool `json:"more"`        // there are more than were looked at

	Found []Difference `json:"-"` // all of them
}

// Holds reports whether no difference counts.
func (r Result) Holds() bool { return r.Differences == 0 && !r.Stranger && !r.More }

// kinds are what is compared, in this order: a refund is only compared if its payment is known.
var kinds = []providerapi.Kind{providerapi.Payments, providerapi.Subscriptions, providerapi.Refunds}

// run is one comparison.
type run struct {
	of     Reconcile
	began  time.Time
	seed   maphash.Seed
	listed map[uint64]bool // hashes of the names that the provider has listed, by kind

	candidates []candidate
	noted      map[string]bool // candidates by kind and first name: a list can have an object twice
	dropped    bool            // there are more candidates
	result     Result
}

// candidate is what differed when it was looked at first.
type candidate struct {
	kind  providerapi.Kind
	names []string // by which the provider finds it
}

// Run compares once. An error means that nothing is known: neither that there are differences, nor that there are none.
func (r Reconcile) Run(ctx context.Context) (Result, error) {
	c := &run{
		of: r, began: r.Now().UTC(), seed: maphash.MakeSeed(), listed: map[uint64]bool{}, noted: map[string]bool{},
		result: Result{Provider: r.API.Provider, Since: r.Since.UTC()},
	}
	for _, kind := range kinds {
		if err := c.compareListed(ctx, kind); err != nil {
			return Result{}, err
		}
		if err := c.findUnlisted(ctx, kind); err != nil || c.result.Stranger {
			return c.result, err
		}
	}
	err := c.lookAgain(ctx)
	return c.result, err
}

// compareListed compares what the provider lists with the tables, page by page.
func (c *run) compareListed(ctx context.Context, kind providerapi.Kind) error {
	var page []providerapi.Object
	flush := func() error {
		differences, err := c.compareNow(ctx, page)
		if err != nil {
			return err
		}
		for _, d := range differences {
			c.add(candidate{d.kind, []string{d.object}})
		}
		for i := range page {
			*c.result.compared(page[i].Kind)++
		}
		c.of.Progress(kind, *c.result.compared(kind))
		page = page[:0]
		return nil
	}
	for object, err := range c.of.API.Objects(ctx, kind, c.of.Since) {
		if err != nil {
			return fmt.Errorf("list the %ss of %s: %w", kind, c.of.API.Provider, err)
		}
		c.markListed(&object)
		if !isCompared(&object) || object.Kind == providerapi.Payments && object.Changed.Before(c.of.Since) {
			continue
		}
		if page = append(page, object); len(page) == pageSize {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// compared counts the objects of a kind.
func (r *Result) compared(kind providerapi.Kind) *int {
	switch kind {
	case providerapi.Payments:
		return &r.Payments
	case providerapi.Subscriptions:
		return &r.Subscriptions
	}
	return &r.Refunds
}

// isCompared reports whether the object says something that the tables show.
func isCompared(o *providerapi.Object) bool {
	switch e := &o.Event; e.Action {
	case events.Payment:
		return e.PaymentID() != "" && !e.Unpaid
	case events.Subscription:
		return e.SubscriptionID != "" && e.Status != ""
	case events.Reverse:
		return e.PaymentID() != ""
	}
	return false
}

// markListed notes the names under which the tables may have the object.
func (c *run) markListed(o *providerapi.Object) {
	for _, name := range []string{o.ID, o.Event.Transaction, o.Event.Order, o.Event.SubscriptionID, o.Event.Reversal.ID} {
		if name != "" {
			c.listed[c.hash(o.Kind, name)] = true
		}
	}
}

func (c *run) hash(kind providerapi.Kind, name string) uint64 {
	return maphash.String(c.seed, string(kind)+" "+name)
}

func (c *run) wasListed(kind providerapi.Kind, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return c.listed[c.hash(kind, name)] })
}

func (c *run) add(one candidate) {
	key := string(one.kind) + " " + one.names[0]
	if c.noted[key] {
		return
	}
	if len(c.candidates) == maxDifferences {
		c.dropped = true
		return
	}
	c.noted[key] = true
	c.candidates = append(c.candidates, one)
}
