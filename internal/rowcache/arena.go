package rowcache

// arena stores bytes in segments. It grows without copying them.
type arena struct {
	segments [][]byte
	from     *memory
}

// span says where some bytes are in an arena.
type span struct{ segment, from, length uint32 }

func (a *arena) put(b []byte) span {
	last := len(a.segments) - 1
	if last < 0 || cap(a.segments[last])-len(a.segments[last]) < len(b) {
		a.segments = append(a.segments, a.from.segment())
		last++
	}
	at := span{uint32(last), uint32(len(a.segments[last])), uint32(len(b))}
	a.segments[last] = append(a.segments[last], b...)
	return at
}

func (a *arena) at(s span) []byte { return a.segments[s.segment][s.from : s.from+s.length] }

// replace puts b at s if it fits there, otherwise in a new span.
func (a *arena) replace(s span, b []byte) span {
	if len(b) > int(s.length) {
		return a.put(b)
	}
	s.length = uint32(copy(a.at(s), b))
	return s
}

// memory returns segments. It prepares the next one concurrently with the fold, because the first
// access to new memory can take as long as filling it.
type memory struct{ ready chan []byte }

const (
	segmentSize = 1 << 20
	pageSize    = 4 << 10
)

func newMemory() *memory {
	m := &memory{ready: make(chan []byte, 1)}
	go m.prepare()
	return m
}

// segment returns an empty segment. It grows if a row needs more than its room.
func (m *memory) segment() []byte {
	segment := <-m.ready
	go m.prepare()
	return segment
}

func (m *memory) prepare() {
	segment := make([]byte, segmentSize)
	for i := 0; i < segmentSize; i += pageSize {
		segment[i] = 0
	}
	m.ready <- segment[:0]
}

// segmented is a slice that grows without copying its elements.
type segmented[T any] struct {
	segments [][]T
	length   uint32
}

const rowsOfSegment = 1 << 13

func (l *segmented[T]) at(i uint32) *T { return &l.segments[i/rowsOfSegment][i%rowsOfSegment] }

func (l *segmented[T]) add(one T) (at uint32) {
	at = l.length
	if at%rowsOfSegment == 0 {
		l.segments = append(l.segments, make([]T, rowsOfSegment))
	}
	l.length++
	*l.at(at) = one
	return at
}
