package projections

// Table is the rows of one table that a fold may see. It knows which rows are
// new and which were changed since they were loaded. Not for concurrent use.
type Table[K comparable, R any] struct {
	rows    map[K]*row[R]
	changed []K // in the order of their first change
}

type row[R any] struct {
	value          R
	loaded, listed bool
}

// Load puts a row as the database has it. A row that is here already stays.
func (t *Table[K, R]) Load(key K, value R) {
	if _, here := t.rows[key]; !here {
		t.entry(key).set(value, true)
	}
}

// Get returns the row as the fold left it.
func (t *Table[K, R]) Get(key K) (R, bool) {
	if found, ok := t.rows[key]; ok {
		return found.value, true
	}
	var none R
	return none, false
}

// Put inserts or changes a row.
func (t *Table[K, R]) Put(key K, value R) {
	entry := t.entry(key)
	entry.set(value, entry.loaded)
	if !entry.listed {
		entry.listed = true
		t.changed = append(t.changed, key)
	}
}

// Inserted lists the new rows, Updated the loaded ones that changed; both in
// the order of their first change.
func (t *Table[K, R]) Inserted() []R { return t.list(false) }

// Updated: see Inserted.
func (t *Table[K, R]) Updated() []R { return t.list(true) }

func (t *Table[K, R]) list(loaded bool) []R {
	out := make([]R, 0, len(t.changed))
	for _, key := range t.changed {
		if entry := t.rows[key]; entry.loaded == loaded {
			out = append(out, entry.value)
		}
	}
	return out
}

func (t *Table[K, R]) entry(key K) *row[R] {
	if t.rows == nil {
		t.rows = map[K]*row[R]{}
	}
	entry, ok := t.rows[key]
	if !ok {
		entry = &row[R]{}
		t.rows[key] = entry
	}
	return entry
}

func (r *row[R]) set(value R, loaded bool) { r.value, r.loaded = value, loaded }
