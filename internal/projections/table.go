package projections

// Table has the rows of one table that a fold can touch. It knows which rows are new and which
// have changed since they were loaded. It is not safe for concurrent use.
type Table[K comparable, R any] struct {
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
func (t *Table[K, R]) Load(key K, value *R) bool {
	if _, here := t.index[key]; here {
		return false
	}
	added := t.add(key)
	added.value, added.loaded = *value, true
	return true
}

// Get returns the row as the last Put, change or Load left it.
func (t *Table[K, R]) Get(key K) (R, bool) {
	if found := t.find(key); found != nil {
		return *found, true
	}
	var none R
	return none, false
}

// find is Get without a copy; nil if there is no row. The result must not be changed. It is valid until a row
// is added.
func (t *Table[K, R]) find(key K) *R {
	if at, here := t.index[key]; here && !t.rows[at].removed {
		return &t.rows[at].value
	}
	return nil
}

// Remove removes the row, if there is one.
func (t *Table[K, R]) Remove(key K) {
	if t.find(key) != nil {
		t.change(key)
		t.rows[t.index[key]].removed = true
	}
}

// Put inserts or changes a row.
func (t *Table[K, R]) Put(key K, value R) { *t.change(key) = value }

// change returns a row that the caller changes in place, until a row is added. A new row is empty.
func (t *Table[K, R]) change(key K) *R {
	at, here := t.index[key]
	if !here {
		at = len(t.rows)
		t.add(key)
	}
	changed := &t.rows[at]
	if changed.removed {
		var empty R
		changed.removed, changed.value = false, empty
	}
	if !changed.listed {
		changed.listed = true
		t.changed = append(t.changed, at)
	}
	return &changed.value
}

// Rows lists all rows.
func (t *Table[K, R]) Rows() []R {
	out := make([]R, 0, len(t.rows))
	for i := range t.rows {
		if !t.rows[i].removed {
			out = append(out, t.rows[i].value)
		}
	}
	return out
}

// EachChanged calls do with every row that is new or has changed, in the order of their first
// change. loaded is false for a new row.
func (t *Table[K, R]) EachChanged(do func(row *R, loaded bool)) {
	for _, index := range t.changed {
		if row := &t.rows[index]; !row.removed {
			do(&row.value, row.loaded)
		}
	}
}

// Inserted lists the new rows, in the order of their first change.
func (t *Table[K, R]) Inserted() []R { return t.list(false) }

// Updated lists the loaded rows that have changed, in the order of their first change.
func (t *Table[K, R]) Updated() []R { return t.list(true) }

// Removed lists the loaded rows that were removed.
func (t *Table[K, R]) Removed() (out []R) {
	for _, index := range t.changed {
		if row := &t.rows[index]; row.removed && row.loaded {
			out = append(out, row.value)
		}
	}
	return out
}

func (t *Table[K, R]) list(loaded bool) []R {
	out := make([]R, 0, len(t.changed))
	t.EachChanged(func(row *R, wasLoaded bool) {
		if wasLoaded == loaded {
			out = append(out, *row)
		}
	})
	return out
}

func (t *Table[K, R]) add(key K) *row[R] {
	if t.index == nil {
		t.index = map[K]int{}
	}
	at := len(t.rows)
	t.index[key] = at
	t.rows = append(t.rows, row[R]{})
	return &t.rows[at]
}

// clear removes all rows and keeps their memory for the next rows.
func (t *Table[K, R]) clear() {
	clear(t.index)
	clear(t.rows)
	t.rows, t.changed, t.settled = t.rows[:0], t.changed[:0], 0
}

// settle makes all rows those of the database.
func (t *Table[K, R]) settle() {
	for _, at := range t.changed {
		t.rows[at].loaded, t.rows[at].listed = !t.rows[at].removed, false
	}
	t.changed, t.settled = t.changed[:0], len(t.rows)
}

// fresh returns the rows that were added since the table was settled.
func (t *Table[K, R]) fresh() []row[R] { return t.rows[t.settled:] }
