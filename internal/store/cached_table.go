package store

import (
	"bytes"
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/projections"
)

// shelf keeps rows of one table in memory, as the bytes that COPY takes in: less
// than half of what they are as values, and nothing that the garbage collector
// has to look through. Not for concurrent use.
type shelf[R any] struct {
	*Table[R]
	in      *shelves
	number  uint32 // there
	columns []column
	keys    int // how many of the columns are the key; they come first

	places  chunked[shelved]
	bytes   arena
	loaded  []uint32 // the rows of this turn, in order
	encoded []byte   // for the next row
}

// rowNames are up to five. The first is one that the row never loses; rows with the
// same key have it in common.
type rowNames [5]string

// shelved is where a row is.
type shelved struct {
	place
	turn    uint32 // in which it was loaded last
	stored  bool   // the table has it, or gets it beside save
	changed bool   // save writes it: as a new row, or where it is stored as an update
}

func (t *Table[R]) newShelf(in *shelves) anyShelf {
	if t.names == nil {
		return nil
	}
	s := &shelf[R]{Table: t, in: in, number: uint32(len(in.all)), columns: columnsOf[R](), bytes: arena{from: in.memory}}
	s.keys = slices.IndexFunc(s.columns, func(c column) bool { return !c.key })
	return s
}

// load puts a row that was found by name, and all that belongs to it.
func (s *shelf[R]) load(state *projections.State, at uint32, name string) {
	if row := s.places.at(at); row.turn != s.in.turn {
		row.turn = s.in.turn
		s.loaded = append(s.loaded, at)
		value := s.value(at)
		s.put(state, value)
		if s.links == nil {
			return
		}
		for _, to := range s.links(&value) {
			if to.name != name {
				s.in.loadNamed(state, to.name)
			}
		}
	}
}

func (s *shelf[R]) value(at uint32) R {
	return valueOf[R](s.columns, s.bytes.at(s.places.at(at).place))
}

// take puts the rows that the table has. Those that are here already stay.
func (s *shelf[R]) take(state *projections.State) {
	rows := s.rows(state).Rows()
	for i := range rows {
		s.encode(&rows[i])
		if _, here := s.find(&rows[i]); !here {
			s.add(&rows[i], shelved{stored: true})
		}
	}
}

// keep puts what the fold changed. Rows that never change are written to the table
// without being saved from here.
func (s *shelf[R]) keep(state *projections.State) {
	changed := s.rows(state)
	if !s.insertOnly {
		changed.EachChanged(s.keepRow)
		return
	}
	added := changed.Inserted()
	for i := range added {
		s.encode(&added[i])
		s.add(&added[i], shelved{stored: true})
	}
}

// keepRow puts a row that is new, or one that was loaded in this turn, as the place-th, and changed.
func (s *shelf[R]) keepRow(row *R, loaded bool, place int) {
	s.encode(row)
	if !loaded {
		s.add(row, shelved{changed: true})
		return
	}
	at := s.loaded[place]
	as := s.places.at(at)
	if !bytes.HasPrefix(s.bytes.at(as.place), s.key()) {
		panic("a row of " + s.name + " is not where it was loaded from")
	}
	s.rename(at, row)
	as.place, as.changed = s.bytes.replace(as.place, s.encoded), true
}

func (s *shelf[R]) encode(row *R) { s.encoded = appendRow(s.encoded[:0], s.columns, row) }

// key is that of the row that was encoded last.
func (s *shelf[R]) key() []byte { return s.encoded[:keyEnd(s.encoded, s.keys)] }

// add puts the row that was encoded last.
func (s *shelf[R]) add(row *R, as shelved) {
	as.place = s.bytes.put(s.encoded)
	at := s.places.add(as)
	names := s.names(row)
	for i, name := range names {
		if !slices.Contains(names[:i], name) {
			s.in.list(name, s.number, at)
		}
	}
}

// rename lists a row under the names that it did not have before.
func (s *shelf[R]) rename(at uint32, row *R) {
	now := s.names(row)
	if now == (rowNames{now[0]}) {
		return
	}
	before := s.value(at)
	had := s.names(&before)
	for _, name := range now {
		if !slices.Contains(had[:], name) {
			s.in.list(name, s.number, at)
		}
	}
}

// find looks for the row with the key of the one that was encoded last.
func (s *shelf[R]) find(row *R) (at uint32, found bool) {
	key := s.key()
	for e := s.in.byName[hashOf(s.names(row)[0])]; e != 0; e = s.in.entry(e).next {
		one := s.in.entry(e)
		if one.shelf == s.number && bytes.HasPrefix(s.bytes.at(s.places.at(one.row).place), key) {
			return one.row, true
		}
	}
	return 0, false
}

// save writes what the table has not got.
func (s *shelf[R]) save(ctx context.Context, tx pgx.Tx, fresh bool) error {
	if s.insertOnly {
		return nil
	}
	next := uint32(0)
	some := func(out []byte) []byte {
		for end := len(out) + copyAtOnce; next < s.places.length && len(out) < end; next++ {
			if row := s.places.at(next); row.changed && !row.stored {
				out = append(out, s.bytes.at(row.place)...)
			}
		}
		return out
	}
	if err := copyIn(ctx, tx, s.name, s.columns, fresh, some); err != nil {
		return err
	}
	return updateIn(ctx, tx, s.name, s.updated)
}

// updated yields the rows that the table has in another form.
func (s *shelf[R]) updated(yield func(R) bool) {
	for at := range s.places.length {
		if row := s.places.at(at); row.changed && row.stored && !yield(s.value(at)) {
			return
		}
	}
}

func (s *shelf[R]) endTurn() { s.loaded = s.loaded[:0] }

// size is what it takes, about.
func (s *shelf[R]) size() int { return chunkSize*len(s.bytes.chunks) + 20*int(s.places.length) }
