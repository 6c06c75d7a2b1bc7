package rowcache

import (
	"context"
	"hash/maphash"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/tables"
)

// Cache has rows that were loaded from the tables or changed by a fold, and one index of all
// their names. It is not safe for concurrent use, except as Seen says.
type Cache struct {
	tables []*cachedTable
	source *Source // of rows that are not here; nil if the tables have none

	events  eventSet
	names   nameIndex
	entries segmented[entry]
	batch   uint32 // the number of the batch that rows are loaded for
	memory  *memory
	loading []loadedName // by this batch
	warmer  warmer

	unlisted []unlisted // see list

	licensed tables.Set // users whose pro payments the loaded rows need, all of them; see complete
}

// entry is a row under one of its names.
type entry struct {
	table  uint32 // its number
	row    uint32
	before uint32 // the entry before it under that name, counted from 1
}

var seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

// HashOf returns the hash under which the cache finds a name. It is the same for the life of
// the process.
func HashOf(name string) uint64 { return maphash.String(seeds[0], name) }

// wideHash returns a hash of 128 bits that nobody can predict, so that no two texts of a log have the same hash. The
// first half is HashOf(text).
func wideHash(text string) [2]uint64 { return [2]uint64{HashOf(text), maphash.String(seeds[1], text)} }

// New returns an empty cache with room for about the expected number of events. source is nil if
// the tables have no rows.
func New(expected int, source *Source) *Cache {
	c := &Cache{
		source: source, events: newEventSet(expected), names: newNameIndex(expected), memory: newMemory(),
		licensed: tables.Set{},
	}
	for _, t := range tables.All {
		if t.FoundByName() {
			c.tables = append(c.tables, newCachedTable(c, t))
		}
	}
	return c
}

// Saves reports whether Save writes the new rows of a table. Otherwise the caller writes them after each Fold. If the
// tables have indexes, Save writes all tables that are found by name, because it sorts the rows.
func (c *Cache) Saves(t tables.AnyTable) bool {
	return t.FoundByName() && (c.indexed() || !t.About().InsertOnly)
}

// indexed reports whether the tables have rows that are found by indexes.
func (c *Cache) indexed() bool { return c.source != nil && !c.source.exact() }

// Seen sends, for each batch, the ids of its events that came in an earlier batch. It runs
// concurrently with the fold. Until the channel is closed, only Fold may be called.
func (c *Cache) Seen(batches [][]events.Event) <-chan []string {
	told := make(chan []string, len(batches))
	go func() {
		defer close(told)
		var ids []EventID
		for _, batch := range batches {
			var seen []string
			ids = ids[:0]
			for i := range batch {
				ids = append(ids, EventIDOf(batch[i].ID))
			}
			for i, id := range ids {
				if c.events.has(id) || c.source.hasEvent(id) {
					seen = append(seen, batch[i].ID)
				}
			}
			for _, id := range ids {
				c.events.add(id)
			}
			told <- seen
		}
	}()
	return told
}

// load adds to the state all rows that the events can touch, except events by their ids, and
// possibly more: see projections.State.
func (c *Cache) load(state *projections.State, batch []events.Event) {
	c.batch++
	for _, one := range c.tables {
		one.loaded = one.loaded[:0]
	}
	c.listNames(batch)
	c.warmer.warm(c, c.loading)
	for _, one := range c.loading {
		c.loadHashed(state, one.name, one.hash)
	}
}

// loadedName is a name whose rows load adds.
type loadedName struct {
	name string
	hash uint64
}

// listNames lists the names by which the fold of the events looks for rows.
func (c *Cache) listNames(batch []events.Event) {
	c.loading = c.loading[:0]
	add := func(name string) {
		if name != "" {
			c.loading = append(c.loading, loadedName{name, HashOf(name)})
		}
	}
	for i := range batch {
		tables.EachCacheName(&batch[i], add)
	}
}

// loadNamed adds the rows of this name and all rows linked to them. It may add other rows, too: a
// row that had this name before, or a row with a name of the same hash.
func (c *Cache) loadNamed(state *projections.State, name string) {
	c.loadHashed(state, name, HashOf(name))
}

func (c *Cache) loadHashed(state *projections.State, name string, hash uint64) {
	for at := c.names.newest(hash); at != 0; {
		e := c.entry(at)
		c.tables[e.table].load(state, e.row, name)
		at = e.before
	}
}

// keep stores what the fold has changed.
func (c *Cache) keep(state *projections.State) {
	for _, one := range c.tables {
		one.keep(state)
	}
	c.listAll()
}

// unlisted is a row that listAll adds to the index under a name.
type unlisted struct {
	hash       uint64
	table, row uint32
}

// list adds a row to the index under a name, at the next listAll.
func (c *Cache) list(name string, table, row uint32) {
	if name != "" {
		c.unlisted = append(c.unlisted, unlisted{HashOf(name), table, row})
	}
}

func (c *Cache) listAll() {
	for i := range c.unlisted {
		c.warmer.name(c, c.unlisted[i].hash)
	}
	for _, one := range c.unlisted {
		c.entries.add(entry{one.table, one.row, c.names.replace(one.hash, c.entries.length+1)})
	}
	c.unlisted = c.unlisted[:0]
}

// entry returns an entry by its number, counted from 1.
func (c *Cache) entry(number uint32) entry { return *c.entries.at(number - 1) }

// Save writes the rows that are new or changed. If the tables had no rows, the transaction must have emptied them.
func (c *Cache) Save(ctx context.Context, tx pgx.Tx) error {
	for _, one := range c.tables {
		if err := one.save(ctx, tx); err != nil {
			return err
		}
	}
	return nil
}

// Written returns how many rows of each table were written, by Save and before it. Tables without names are left out.
func (c *Cache) Written() map[tables.AnyTable]int {
	written := map[tables.AnyTable]int{}
	for _, one := range c.tables {
		written[one.AnyTable] = one.written
	}
	return written
}

// Size returns about the memory of the cache, including the names that its source remembers.
func (c *Cache) Size() int {
	size := c.events.size() + c.names.size() + 12*int(c.entries.length)
	if c.source != nil {
		size += c.source.size()
	}
	for _, one := range c.tables {
		size += one.size()
	}
	return size
}

// EachName calls do with the hash of every name.
func (c *Cache) EachName(do func(hash uint64)) { c.names.each(do) }

// EventIDs lists the ids of all events in the cache, in no order.
func (c *Cache) EventIDs() []EventID { return c.events.list() }
