package rowcache

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"iter"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/tables"
)

// cachedTable has the rows of one table in a Cache, in COPY's binary format: that takes
// less than half of the memory of the structs, and the garbage collector need not scan it.
// It is not safe for concurrent use.
type cachedTable struct {
	tables.AnyTable
	in     *Cache
	number uint32 // of this table in the row cache
	saves  bool   // see Cache.Saves
	keys   int    // the number of key columns, which come first
	sortBy int    // the column by which save sorts
	reader tables.RowReader
	rows   segmented[cachedRow]
	bytes  arena
	loaded []uint32 // the rows that this batch has loaded, in order

	written int // rows that this chunk has written; save adds its own
}

// cachedRow says where the bytes of a row are, and its state.
type cachedRow struct {
	span
	batch   uint32 // the batch that loaded it last
	stored  bool   // the table has it, or gets it without save
	changed bool   // save writes it: as an update if it is stored, otherwise as a new row
}

func newCachedTable(in *Cache, t tables.AnyTable) *cachedTable {
	sortBy := cmp.Or(t.About().SortColumn, t.Columns()[0].Name)
	return &cachedTable{
		AnyTable: t, in: in, number: uint32(len(in.tables)), saves: in.Saves(t), bytes: arena{from: in.memory}, reader: t.RowReader(),
		keys:   slices.IndexFunc(t.Columns(), func(c tables.Column) bool { return !c.Key }),
		sortBy: slices.IndexFunc(t.Columns(), func(c tables.Column) bool { return c.Name == sortBy }),
	}
}

// load adds to the state a row that was found by its name, and all rows linked to it.
func (c *cachedTable) load(state *projections.State, at uint32, name string) {
	row := c.rows.at(at)
	if row.batch == c.in.batch {
		return
	}
	row.batch = c.in.batch
	c.loaded = append(c.loaded, at)
	for _, to := range c.reader.Put(state, c.bytes.at(row.span)) {
		if to.Name == "" {
			continue
		}
		if c.in.source != nil {
			c.in.licensed.Add(to.Licensed())
		}
		if linked := to.CacheName(); linked != name {
			c.in.loadNamed(state, linked)
		}
	}
}

// take adds the rows that were read from the table. Rows that the cache has already stay as they
// are.
func (c *cachedTable) take(state *projections.State) {
	c.EachRow(state, func(row []byte, names tables.RowNames) {
		if !c.has(row, names) {
			c.add(row, names, cachedRow{stored: true})
		}
	})
}

// keep stores the rows that the fold has added or changed.
func (c *cachedTable) keep(state *projections.State) {
	c.EachChangedRow(state, func(row []byte, names tables.RowNames, loaded bool, index int) {
		if !loaded {
			if !c.saves {
				c.written++
			}
			c.add(row, names, cachedRow{stored: !c.saves, changed: c.saves})
			return
		}
		at := c.loaded[index]
		cached := c.rows.at(at)
		before := c.bytes.at(cached.span)
		if !bytes.HasPrefix(before, c.keyOf(row)) {
			panic("a row of " + c.About().Name + " is not where it was loaded from")
		}
		c.rename(at, before, names)
		cached.span, cached.changed = c.bytes.replace(cached.span, row), true
	})
}

func (c *cachedTable) keyOf(row []byte) []byte { return row[:tables.KeyEnd(row, c.keys)] }

func (c *cachedTable) add(row []byte, names tables.RowNames, as cachedRow) {
	as.span = c.bytes.put(row)
	at := c.rows.add(as)
	for i, name := range names {
		if !slices.Contains(names[:i], name) {
			c.in.list(name, c.number, at)
		}
	}
}

// rename lists a row under its new names.
func (c *cachedTable) rename(at uint32, before []byte, now tables.RowNames) {
	if now == (tables.RowNames{now[0]}) {
		return
	}
	had := c.reader.Names(before)
	for _, name := range now {
		if !slices.Contains(had[:], name) {
			c.in.list(name, c.number, at)
		}
	}
}

// has reports whether a row with the same key is here.
func (c *cachedTable) has(row []byte, names tables.RowNames) bool {
	key := c.keyOf(row)
	for e := c.in.names.newest(HashOf(names[0])); e != 0; e = c.in.entry(e).before {
		one := c.in.entry(e)
		if one.table == c.number && bytes.HasPrefix(c.bytes.at(c.rows.at(one.row).span), key) {
			return true
		}
	}
	return false
}

// save writes the rows that are new or changed, in the order of an index if the table has one. If places of rows are
// known, it deletes changed rows and inserts them again, so that all written rows get new places.
func (c *cachedTable) save(ctx context.Context, tx pgx.Tx) error {
	added, changed := c.unsaved()
	c.written += len(added)
	switch {
	case c.in.indexed():
		c.sort(added)
		c.sort(changed)
	case len(changed) > 0:
		places := func(name string) []tables.Place { return c.in.source.known.Places(c.AnyTable, []string{name}) }
		if err := c.RemoveRows(ctx, tx, c.each(changed), places); err != nil {
			return err
		}
		c.written += len(changed)
		added, changed = append(added, changed...), nil
	}
	some := func(out []byte) []byte {
		for end := len(out) + tables.CopyBufferSize; len(added) > 0 && len(out) < end; added = added[1:] {
			out = append(out, c.row(added[0])...)
		}
		return out
	}
	if err := tables.CopyIn(ctx, tx, c.AnyTable, c.in.source == nil, some); err != nil {
		return err
	}
	return c.UpdateRows(ctx, tx, c.each(changed))
}

func (c *cachedTable) each(rows []uint32) iter.Seq[[]byte] {
	return func(yield func(row []byte) bool) {
		for _, at := range rows {
			if !yield(c.row(at)) {
				return
			}
		}
	}
}

func (c *cachedTable) row(at uint32) []byte { return c.bytes.at(c.rows.at(at).span) }

// unsaved lists the rows that the table does not have, and those that differ from the table's.
func (c *cachedTable) unsaved() (added, changed []uint32) {
	for at := range c.rows.length {
		switch row := c.rows.at(at); {
		case row.changed && row.stored:
			changed = append(changed, at)
		case row.changed:
			added = append(added, at)
		}
	}
	return added, changed
}

// sort orders rows by the bytes of one column, and those with the same text by their age. Most rows of one page of the
// index are then consecutive, and Postgres inserts them up to twice as quickly.
func (c *cachedTable) sort(rows []uint32) {
	type keyed struct {
		first, then uint64 // the first bytes of the text; mostly nothing else has to be read
		at          uint32
	}
	text := func(at uint32) []byte { return tables.ColumnOf(c.row(at), c.sortBy) }
	keys := make([]keyed, len(rows))
	for i, at := range rows {
		var begin [16]byte
		copy(begin[:], text(at))
		keys[i] = keyed{binary.BigEndian.Uint64(begin[:8]), binary.BigEndian.Uint64(begin[8:]), at}
	}
	slices.SortFunc(keys, func(a, b keyed) int {
		order := cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.then, b.then))
		if longer := a.then&0xff != 0; order == 0 && longer { // no text of Postgres has a byte 0
			order = bytes.Compare(text(a.at), text(b.at))
		}
		return cmp.Or(order, cmp.Compare(a.at, b.at))
	})
	for i, key := range keys {
		rows[i] = key.at
	}
}

// size returns about the memory that the table uses.
func (c *cachedTable) size() int { return segmentSize*len(c.bytes.segments) + 20*int(c.rows.length) }
