package rebuild

import (
	"bytes"
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/tables"
)

// cachedTable is the rows of one table in a rowCache, as the bytes that COPY takes in:
// less than half of what they are as values, and nothing that the garbage collector
// has to look through. Not for concurrent use.
type cachedTable struct {
	tables.AnyTable
	in     *rowCache
	number uint32 // there
	keys   int    // how many of the columns are the key; they come first
	rows   segmented[cachedRow]
	bytes  arena
	loaded []uint32 // the rows that were loaded for this batch, in order
}

// cachedRow is where a row is.
type cachedRow struct {
	place
	batch   uint32 // for which it was loaded last
	stored  bool   // the table has it, or gets it beside save
	changed bool   // save writes it: as a new row, or where it is stored as an update
}

func newCachedTable(in *rowCache, t tables.AnyTable) *cachedTable {
	return &cachedTable{
		AnyTable: t, in: in, number: uint32(len(in.tables)), bytes: arena{from: in.memory},
		keys: slices.IndexFunc(t.Columns(), func(c tables.Column) bool { return !c.Key }),
	}
}

// load puts a row that was found by name into the state, and all that belongs to it.
func (c *cachedTable) load(state *projections.State, at uint32, name string) {
	row := c.rows.at(at)
	if row.batch == c.in.batch {
		return
	}
	row.batch = c.in.batch
	c.loaded = append(c.loaded, at)
	for _, to := range c.PutRow(state, c.bytes.at(row.place)) {
		if to.Name != name {
			c.in.loadNamed(state, to.Name)
		}
	}
}

// take adds the rows that the table has. Those that are here already stay.
func (c *cachedTable) take(state *projections.State) {
	c.EachRow(state, func(row []byte, names tables.RowNames) {
		if !c.has(row, names) {
			c.add(row, names, cachedRow{stored: true})
		}
	})
}

// keep adds what the fold changed. Rows that never change are written to the table
// without being saved from here.
func (c *cachedTable) keep(state *projections.State) {
	insertOnly := c.About().InsertOnly
	c.EachChangedRow(state, func(row []byte, names tables.RowNames, loaded bool, place int) {
		if !loaded {
			c.add(row, names, cachedRow{stored: insertOnly, changed: !insertOnly})
			return
		}
		at := c.loaded[place]
		cached := c.rows.at(at)
		before := c.bytes.at(cached.place)
		if !bytes.HasPrefix(before, c.keyOf(row)) {
			panic("a row of " + c.About().Name + " is not where it was loaded from")
		}
		c.rename(at, before, names)
		cached.place, cached.changed = c.bytes.replace(cached.place, row), true
	})
}

func (c *cachedTable) keyOf(row []byte) []byte { return row[:tables.KeyEnd(row, c.keys)] }

func (c *cachedTable) add(row []byte, names tables.RowNames, as cachedRow) {
	as.place = c.bytes.put(row)
	at := c.rows.add(as)
	for i, name := range names {
		if !slices.Contains(names[:i], name) {
			c.in.list(name, c.number, at)
		}
	}
}

// rename lists a row under the names that it did not have before.
func (c *cachedTable) rename(at uint32, before []byte, now tables.RowNames) {
	if now == (tables.RowNames{now[0]}) {
		return
	}
	had := c.NamesOf(before)
	for _, name := range now {
		if !slices.Contains(had[:], name) {
			c.in.list(name, c.number, at)
		}
	}
}

// has says whether a row with the same key is here.
func (c *cachedTable) has(row []byte, names tables.RowNames) bool {
	key := c.keyOf(row)
	for e := c.in.byName[hashOf(names[0])]; e != 0; e = c.in.entry(e).next {
		one := c.in.entry(e)
		if one.table == c.number && bytes.HasPrefix(c.bytes.at(c.rows.at(one.row).place), key) {
			return true
		}
	}
	return false
}

// save writes what the table has not got.
func (c *cachedTable) save(ctx context.Context, tx pgx.Tx, fresh bool) error {
	if c.About().InsertOnly {
		return nil
	}
	next := uint32(0)
	some := func(out []byte) []byte {
		for end := len(out) + tables.CopyBufferSize; next < c.rows.length && len(out) < end; next++ {
			if row := c.rows.at(next); row.changed && !row.stored {
				out = append(out, c.bytes.at(row.place)...)
			}
		}
		return out
	}
	if err := tables.CopyIn(ctx, tx, c.About().Name, c.Columns(), fresh, some); err != nil {
		return err
	}
	return c.UpdateRows(ctx, tx, c.changed)
}

// changed yields the rows that the table has in another form.
func (c *cachedTable) changed(yield func(row []byte) bool) {
	for at := range c.rows.length {
		if row := c.rows.at(at); row.changed && row.stored && !yield(c.bytes.at(row.place)) {
			return
		}
	}
}

// size is the memory that it takes, about.
func (c *cachedTable) size() int { return segmentSize*len(c.bytes.segments) + 20*int(c.rows.length) }
