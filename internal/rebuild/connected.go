package rebuild

import (
	"encoding/binary"
	"sync"
)

// connected has the events that names connect with events of other buckets. They leave their buckets. Each is kept under
// one shared name of the events in its bucket that it is connected with.
type connected struct {
	shared map[uint64]struct{}
	mu     sync.Mutex
	links  map[uint64]uint64 // of shared names that connected events have: to another one of them, or to itself
	events *spool
}

func newConnected(shared map[uint64]struct{}, buckets, limit int) *connected {
	return &connected{shared: shared, links: map[uint64]uint64{}, events: newSpool(buckets, limit)}
}

// splitter tells which events of a bucket stay in it.
type splitter struct {
	*connected
	reader eventReader
	hashes []uint64       // of the names of all events
	ends   []int          // of each event's names
	parent []int          // of each event
	first  map[uint64]int // the first event with a name
}

// group is the events of a bucket that names connect, and those of their names that other buckets have, too.
type group struct {
	shared  []uint64
	records []string
}

// split returns the events that share no name with another bucket, also not through events of this one, and the groups
// of the others.
func (s *splitter) split(records []string) (stay []string, leave map[int]*group) {
	if !s.read(records) {
		return records, nil
	}
	s.unite()
	leave = map[int]*group{}
	for i := range records {
		for _, hash := range s.namesOf(i) {
			if _, is := s.shared[hash]; is {
				root := s.root(i)
				if leave[root] == nil {
					leave[root] = &group{}
				}
				leave[root].shared = append(leave[root].shared, hash)
			}
		}
	}
	for i, record := range records {
		if theirs := leave[s.root(i)]; theirs != nil {
			theirs.records = append(theirs.records, record)
		} else {
			stay = append(stay, record)
		}
	}
	return stay, leave
}

// read reads the names of the events, and reports whether any is shared.
func (s *splitter) read(records []string) (any bool) {
	if len(s.shared) == 0 {
		return false
	}
	s.hashes, s.ends = s.hashes[:0], s.ends[:0]
	for _, record := range records {
		eachName(s.reader.read(record), func(hash uint64) {
			_, is := s.shared[hash]
			any = any || is
			s.hashes = append(s.hashes, hash)
		})
		s.ends = append(s.ends, len(s.hashes))
	}
	return any
}

func (s *splitter) namesOf(i int) []uint64 {
	begin := 0
	if i > 0 {
		begin = s.ends[i-1]
	}
	return s.hashes[begin:s.ends[i]]
}

// unite gives all events that names connect one root.
func (s *splitter) unite() {
	s.parent, s.first = s.parent[:0], map[uint64]int{}
	for i := range s.ends {
		s.parent = append(s.parent, i)
		for _, hash := range s.namesOf(i) {
			first, known := s.first[hash]
			if !known {
				s.first[hash] = i
				continue
			}
			s.parent[s.root(first)] = s.root(i)
		}
	}
}

func (s *splitter) root(i int) int {
	for s.parent[i] != i {
		s.parent[i] = s.parent[s.parent[i]]
		i = s.parent[i]
	}
	return i
}

// add takes events that leave their bucket.
func (c *connected) add(g *group) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	name := g.shared[0]
	for _, other := range g.shared {
		if _, known := c.links[other]; !known {
			c.links[other] = other
		}
		c.links[c.root(other)] = c.root(name)
	}
	for _, record := range g.records {
		if err := c.events.add(int(name%uint64(c.events.buckets)), append(binary.BigEndian.AppendUint64(nil, name), record...)); err != nil {
			return err
		}
	}
	return nil
}

func (c *connected) root(name uint64) uint64 {
	for c.links[name] != name {
		c.links[name] = c.links[c.links[name]]
		name = c.links[name]
	}
	return name
}

// together moves the events into buckets again: all that are connected have one bucket. Afterwards c has none.
func (c *connected) together(buckets, limit int) (*spool, error) {
	defer c.events.close()
	c.events.seal()
	all := newSpool(buckets, limit)
	for bucket := range c.events.buckets {
		records, err := c.events.read(bucket)
		if err != nil {
			return all, err
		}
		for _, record := range records {
			root := c.root(binary.BigEndian.Uint64([]byte(record[:8])))
			if err := all.add(int(root%uint64(buckets)), []byte(record[8:])); err != nil {
				return all, err
			}
		}
	}
	all.seal()
	return all, nil
}
