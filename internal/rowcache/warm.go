package rowcache

// warmer brings rows from memory into the processor's caches. load by itself would wait for each
// read, because each read tells what to read next. The reads of one loop here do not depend on each
// other, so the processor makes many of them at once.
type warmer struct {
	numbers []uint32 // of entries
	entries []entry
	spans   []span
	read    uint64 // only makes the compiler keep the reads
}

// maxWarm bounds the rows that are read ahead of load: more than that would not stay in a core's cache, and
// thousands of events can be of one user with thousands of rows.
const maxWarm = 1 << 14

// warm reads the rows of these names, which load reads first. It does not read the rows linked to
// them.
func (w *warmer) warm(c *Cache, names []loadedName) {
	w.numbers, w.entries, w.spans = w.numbers[:0], w.entries[:0], w.spans[:0]
	for i := range names {
		w.name(c, names[i].hash)
	}
	for i := range names {
		if newest := c.names.newest(names[i].hash); newest != 0 {
			w.numbers = append(w.numbers, newest)
		}
	}
	for len(w.numbers) > 0 && len(w.entries) < maxWarm {
		before := w.numbers[:0]
		for _, number := range w.numbers {
			e := c.entry(number)
			w.entries = append(w.entries, e)
			if e.before != 0 {
				before = append(before, e.before)
			}
		}
		w.numbers = before
	}
	for _, e := range w.entries {
		w.spans = append(w.spans, c.tables[e.table].rows.at(e.row).span)
	}
	for i, e := range w.entries {
		row := c.tables[e.table].bytes.at(w.spans[i])
		for at := 0; at < len(row); at += lineSize {
			w.read += uint64(row[at])
		}
	}
}

// name reads the slot of a name in the index.
func (w *warmer) name(c *Cache, hash uint64) { w.read += c.names.first(hash).hash }

// lineSize is how many bytes the processor reads of memory at once.
const lineSize = 64
