package rebuild

import (
	"context"
	"hash/maphash"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/tables"
)

// rowCache is the rows that a chunk of a rebuild has seen, as it leaves them, with one
// index of all their names. To a Bulk it is what the tables are to Apply; the tables
// get the rows at the chunk's end.
type rowCache struct {
	tables []*cachedTable

	events  map[eventHash]struct{}
	byName  map[uint64]uint32 // the hash of a name → the newest entry under it, counted from 1
	entries segmented[entry]
	batch   uint32 // the number of the batch that rows are loaded for
	memory  *memory
}

// entry is a row under one of its names.
type entry struct {
	table uint32 // its number
	row   uint32
	next  uint32 // the entry before it under that name, counted from 1
}

// eventHash is as good as an event's id: 128 bits that nobody can foresee.
type eventHash [2]uint64

var seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

func hashOf(name string) uint64 { return maphash.String(seeds[0], name) }

func hashOfEvent(id string) eventHash { return eventHash{hashOf(id), maphash.String(seeds[1], id)} }

// newRowCache expects about that many events.
func newRowCache(expected int) *rowCache {
	s := &rowCache{events: make(map[eventHash]struct{}, expected), byName: make(map[uint64]uint32, expected), memory: newMemory()}
	for _, t := range tables.All {
		if t.FoundByName() {
			s.tables = append(s.tables, newCachedTable(s, t))
		}
	}
	return s
}

// seen tells, batch after batch, which of the events' ids came before that batch.
// It works beside the fold; nobody else may touch s.events until it is closed.
func (s *rowCache) seen(batches [][]events.Event) <-chan []string {
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
func (s *rowCache) load(state *projections.State, batch []events.Event) {
	s.batch++
	for _, one := range s.tables {
		one.loaded = one.loaded[:0]
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
				s.loadNamed(state, tables.PaymentsOf(e.SubscriptionID))
			}
		}
	}
}

// loadNamed puts the rows of that name and what belongs to them; now and then
// another one, which had this name before or one with the same hash.
func (s *rowCache) loadNamed(state *projections.State, name string) {
	if name == "" {
		return
	}
	for at := s.byName[hashOf(name)]; at != 0; {
		e := s.entry(at)
		s.tables[e.table].load(state, e.row, name)
		at = e.next
	}
}

// take puts what the tables have, where it is not here yet.
func (s *rowCache) take(state *projections.State) {
	for _, id := range state.Events.Seen() {
		s.events[hashOfEvent(id)] = struct{}{}
	}
	for _, one := range s.tables {
		one.take(state)
	}
}

// keep puts what the fold changed.
func (s *rowCache) keep(state *projections.State) {
	for _, one := range s.tables {
		one.keep(state)
	}
}

// list puts a row under a name.
func (s *rowCache) list(name string, table, row uint32) {
	if name == "" {
		return
	}
	hash := hashOf(name)
	s.byName[hash] = 1 + s.entries.add(entry{table, row, s.byName[hash]})
}

// entry is the one of that number, counted from 1.
func (s *rowCache) entry(number uint32) entry { return *s.entries.at(number - 1) }

// save writes what the tables have not got.
func (s *rowCache) save(ctx context.Context, tx pgx.Tx, fresh bool) error {
	for _, one := range s.tables {
		if err := one.save(ctx, tx, fresh); err != nil {
			return err
		}
	}
	return nil
}

// size is what all of it takes, about.
func (s *rowCache) size() int {
	size := 40*len(s.events) + 24*len(s.byName) + 12*int(s.entries.length)
	for _, one := range s.tables {
		size += one.size()
	}
	return size
}

// eachHash calls do with the hash of every name and of every event's id.
func (s *rowCache) eachHash(do func(hash uint64)) {
	for event := range s.events {
		do(event[0])
	}
	for hash := range s.byName {
		do(hash)
	}
}
