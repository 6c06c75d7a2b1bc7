package store

import (
	"context"
	"hash/maphash"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
)

// shelves is the rows that a stretch has seen, as it leaves them, with one index of
// all their names. To a Bulk they are what the tables are to Apply; the tables get
// them at the stretch's end.
type shelves struct {
	payments      *shelf[projections.Payment]
	ledger        *shelf[projections.LedgerLine]
	reversals     *shelf[projections.Reversal]
	subscriptions *shelf[projections.SubscriptionState]
	current       *shelf[projections.Subscription]
	credits       *shelf[projections.Credits]
	licenses      *shelf[projections.ProLicense]
	all           []anyShelf

	events  map[eventHash]struct{}
	byName  map[uint64]uint32 // the hash of a name → the newest entry under it, counted from 1
	entries chunked[entry]
	turn    uint32 // of load
	memory  *memory
}

// anyShelf is a shelf, whatever its rows.
type anyShelf interface {
	load(state *projections.State, at uint32, name string)
	endTurn()
	save(ctx context.Context, tx pgx.Tx, fresh bool) error
	size() int
}

// entry is a row under one of its names.
type entry struct {
	shelf uint32 // its number
	row   uint32
	next  uint32 // the entry before it under that name, counted from 1
}

// eventHash is as good as an event's id: 128 bits that nobody can foresee.
type eventHash [2]uint64

var seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

func hashOf(name string) uint64 { return maphash.String(seeds[0], name) }

func hashOfEvent(id string) eventHash { return eventHash{hashOf(id), maphash.String(seeds[1], id)} }

// newShelves expects about that many events.
func newShelves(expected int) *shelves {
	s := &shelves{events: make(map[eventHash]struct{}, expected), byName: make(map[uint64]uint32, expected), memory: newMemory()}
	s.payments = newShelf(s, "payment", func(r *projections.Payment) rowNames {
		out := rowNames{r.ProviderPaymentID, r.TransactionID}
		if r.FirstOfOrder {
			out[2] = r.OrderID
		}
		switch {
		case r.UserID == "":
			out[3] = r.SubscriptionID
		case r.Kind == projections.KindPro:
			out[3] = r.UserID
		}
		if r.SubscriptionID != "" {
			out[4] = paymentsOf(r.SubscriptionID)
		}
		return out
	}, func(state *projections.State, r projections.Payment, name string) {
		state.LoadPayment(r)
		// Its reversals and ledger lines, those of the row that was merged into it, its subscription and its users.
		for _, other := range [...]string{r.ProviderPaymentID, r.MergedID, r.MergedInto, r.SubscriptionID, r.UserID, r.Buyer, r.OtherUserID} {
			if name != other {
				s.loadNamed(state, other)
			}
		}
	})
	s.subscriptions = newShelf(s, "subscription_state", func(r *projections.SubscriptionState) rowNames {
		return rowNames{r.SubscriptionID, r.UserID}
	}, func(state *projections.State, r projections.SubscriptionState, name string) {
		state.LoadSubscription(r)
		if name != r.UserID {
			s.loadNamed(state, r.UserID)
		}
	})
	s.ledger = newShelf(s, "credit_ledger",
		func(r *projections.LedgerLine) rowNames { return rowNames{r.ProviderPaymentID} },
		func(state *projections.State, r projections.LedgerLine, _ string) { state.Ledger.Load(r) })
	s.reversals = newShelf(s, "reversal",
		func(r *projections.Reversal) rowNames { return rowNames{r.ProviderPaymentID} },
		func(state *projections.State, r projections.Reversal, _ string) { state.LoadReversal(r) })
	s.current = newShelf(s, "subscription",
		func(r *projections.Subscription) rowNames { return rowNames{r.UserID} },
		func(state *projections.State, r projections.Subscription, _ string) { state.Current.Load(r.UserID, r) })
	s.credits = newShelf(s, "credits",
		func(r *projections.Credits) rowNames { return rowNames{r.UserID} },
		func(state *projections.State, r projections.Credits, _ string) { state.Credits.Load(r.UserID, r) })
	s.licenses = newShelf(s, "pro_license",
		func(r *projections.ProLicense) rowNames { return rowNames{r.UserID} },
		func(state *projections.State, r projections.ProLicense, _ string) { state.Licenses.Load(r.UserID, r) })
	return s
}

// seen tells, batch after batch, which of the events' ids came before that batch.
// It works beside the fold; nobody else may touch s.events until it is closed.
func (s *shelves) seen(batches [][]events.Event) <-chan []string {
	told := make(chan []string, len(batches))
	go func() {
		defer close(told)
		var hashes []eventHash
		for _, batch := range batches {
			var seen []string
			hashes = hashes[:0]
			for i := range batch {
				hash := hashOfEvent(batch[i].ID)
				if _, here := s.events[hash]; here {
					seen = append(seen, batch[i].ID)
				}
				hashes = append(hashes, hash)
			}
			for _, hash := range hashes {
				s.events[hash] = struct{}{}
			}
			told <- seen
		}
	}()
	return told
}

// load puts what the events can touch but their ids, and maybe more: see projections.State.
func (s *shelves) load(state *projections.State, batch []events.Event) {
	s.turn++
	for _, one := range s.all {
		one.endTurn()
	}
	for i := range batch {
		e := &batch[i]
		if !projections.HasEffect(e.Type) {
			continue
		}
		s.loadNamed(state, e.Transaction)
		s.loadNamed(state, e.Order)
		if !projections.IsReversal(e.Type) {
			s.loadNamed(state, e.SubscriptionID)
			s.loadNamed(state, e.UserID)
			if projections.StartsSubscription(*e) {
				s.loadNamed(state, paymentsOf(e.SubscriptionID))
			}
		}
	}
}

// paymentsOf is a name of all payments of a subscription, which is no name of anything else.
func paymentsOf(subscription string) string { return "\x00" + subscription }

// loadNamed puts the rows of that name and what belongs to them; now and then
// another one, which had this name before or one with the same hash.
func (s *shelves) loadNamed(state *projections.State, name string) {
	if name == "" {
		return
	}
	for at := s.byName[hashOf(name)]; at != 0; {
		e := s.entry(at)
		s.all[e.shelf].load(state, e.row, name)
		at = e.next
	}
}

// take puts what the tables have, where it is not here yet.
func (s *shelves) take(state *projections.State) {
	for _, id := range state.Events.Seen() {
		s.events[hashOfEvent(id)] = struct{}{}
	}
	s.payments.take(state.Payments.Rows())
	s.ledger.take(state.Ledger.Lines())
	s.reversals.take(state.Reversals.Rows())
	s.subscriptions.take(state.Subscriptions.Rows())
	s.current.take(state.Current.Rows())
	s.credits.take(state.Credits.Rows())
	s.licenses.take(state.Licenses.Rows())
}

// keep puts what the fold changed.
func (s *shelves) keep(state *projections.State) {
	for _, line := range state.Ledger.Inserted() {
		s.ledger.note(&line)
	}
	state.Payments.EachChanged(s.payments.keep)
	state.Reversals.EachChanged(s.reversals.keep)
	state.Subscriptions.EachChanged(s.subscriptions.keep)
	state.Current.EachChanged(s.current.keep)
	state.Credits.EachChanged(s.credits.keep)
	state.Licenses.EachChanged(s.licenses.keep)
}

// list puts a row under a name.
func (s *shelves) list(name string, shelf, row uint32) {
	if name == "" {
		return
	}
	hash := hashOf(name)
	s.byName[hash] = 1 + s.entries.add(entry{shelf, row, s.byName[hash]})
}

// entry is the one of that number, counted from 1.
func (s *shelves) entry(number uint32) entry { return *s.entries.at(number - 1) }

// save writes what the tables have not got.
func (s *shelves) save(ctx context.Context, tx pgx.Tx, fresh bool) error {
	for _, one := range s.all {
		if err := one.save(ctx, tx, fresh); err != nil {
			return err
		}
	}
	return nil
}

// size is what all of it takes, about.
func (s *shelves) size() int {
	size := 40*len(s.events) + 24*len(s.byName) + 12*int(s.entries.length)
	for _, one := range s.all {
		size += one.size()
	}
	return size
}

// eachHash calls do with the hash of every name and of every event's id.
func (s *shelves) eachHash(do func(hash uint64)) {
	for event := range s.events {
		do(event[0])
	}
	for hash := range s.byName {
		do(hash)
	}
}
