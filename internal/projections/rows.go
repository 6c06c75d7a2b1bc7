package projections

import "iter"

// Rows are the rows of one table that a fold can touch. They know which are new and which
// have changed since they were loaded. Not safe for concurrent use.
type Rows[K comparable, R any] struct {
	index   map[K]int // of a row in rows, by its key
	rows    []row[R]
	changed []int // in the order of their first change
	settled int   // how many rows there were when the table was settled
}

type row[R any] struct {
	value          R
	loaded, listed bool
	removed        bool
}

// Load adds a row of the database, and reports whether it did. If the row is already here, nothing
// changes.
func (r *Rows[K, R]) Load(key K, value *R) bool {
	if _, here := r.index[key]; here {
		return false
	}
	added := r.add(key)
	added.value, added.loaded = *value, true
	return true
}

// Get returns the row as the last Put, change or Load left it.
func (r *Rows[K, R]) Get(key K) (R, bool) {
	if found := r.find(key); found != nil {
		return *found, true
	}
	var none R
	return none, false
}

// find is Get without a copy; nil if there is no row. The result must not be changed. It is valid until a row
// is added.
func (r *Rows[K, R]) find(key K) *R {
	if at, here := r.index[key]; here && !r.rows[at].removed {
		return &r.rows[at].value
	}
	return nil
}

// Remove removes the row, if there is one.
func (r *Rows[K, R]) Remove(key K) {
	if r.find(key) != nil {
		r.change(key)
		r.rows[r.index[key]].removed = true
	}
}

// Put inserts or changes a row.
func (r *Rows[K, R]) Put(key K, value R) { *r.change(key) = value }

// change returns a row that the caller changes in place, until a row is added. A new row is empty.
func (r *Rows[K, R]) change(key K) *R {
	at, here := r.index[key]
	if !here {
		at = len(r.rows)
		r.add(key)
	}
	changed := &r.rows[at]
	if changed.removed {
		var empty R
		changed.removed, changed.value = false, empty
	}
	if !changed.listed {
		changed.listed = true
		r.changed = append(r.changed, at)
	}
	return &changed.value
}

// All lists all rows.
func (r *Rows[K, R]) All() []R {
	out := make([]R, 0, len(r.rows))
	for i := range r.rows {
		if !r.rows[i].removed {
			out = append(out, r.rows[i].value)
		}
	}
	return out
}

// Changed returns the rows that are new or have changed, in the order of their first change.
func (r *Rows[K, R]) Changed() iter.Seq[*R] {
	return func(yield func(*R) bool) {
		for _, index := range r.changed {
			if row := &r.rows[index]; !row.removed && !yield(&row.value) {
				return
			}
		}
	}
}

// New returns the rows that are new, in the order of their first change. Inserted has copies of them.
func (r *Rows[K, R]) New() iter.Seq[*R] {
	return func(yield func(*R) bool) {
		for _, index := range r.changed {
			if row := &r.rows[index]; !row.removed && !row.loaded && !yield(&row.value) {
				return
			}
		}
	}
}

// Inserted lists the new rows, in the order of their first change.
func (r *Rows[K, R]) Inserted() []R { return r.list(false) }

// Updated lists the loaded rows that have changed, in the order of their first change.
func (r *Rows[K, R]) Updated() []R { return r.list(true) }

// Removed lists the loaded rows that were removed.
func (r *Rows[K, R]) Removed() (out []R) {
	for _, index := range r.changed {
		if row := &r.rows[index]; row.removed && row.loaded {
			out = append(out, row.value)
		}
	}
	return out
}

func (r *Rows[K, R]) list(loaded bool) []R {
	out := make([]R, 0, len(r.changed))
	for _, index := range r.changed {
		if row := &r.rows[index]; !row.removed && row.loaded == loaded {
			out = append(out, row.value)
		}
	}
	return out
}

func (r *Rows[K, R]) add(key K) *row[R] {
	if r.index == nil {
		r.index = map[K]int{}
	}
	at := len(r.rows)
	r.index[key] = at
	r.rows = append(r.rows, row[R]{})
	return &r.rows[at]
}

// clear removes all rows and keeps their memory for the next rows.
func (r *Rows[K, R]) clear() {
	clear(r.index)
	clear(r.rows)
	r.rows, r.changed, r.settled = r.rows[:0], r.changed[:0], 0
}

// settle makes all rows those of the database.
func (r *Rows[K, R]) settle() {
	for _, at := range r.changed {
		r.rows[at].loaded, r.rows[at].listed = !r.rows[at].removed, false
	}
	r.changed, r.settled = r.changed[:0], len(r.rows)
}

// fresh returns the rows that were added since the table was settled.
func (r *Rows[K, R]) fresh() []row[R] { return r.rows[r.settled:] }
