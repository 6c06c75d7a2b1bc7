package store

// arena is bytes in chunks, so that it grows without being copied.
type arena struct {
	chunks [][]byte
	from   *memory
}

type place struct{ chunk, from, length uint32 }

func (a *arena) put(b []byte) place {
	last := len(a.chunks) - 1
	if last < 0 || cap(a.chunks[last])-len(a.chunks[last]) < len(b) {
		a.chunks = append(a.chunks, a.from.chunk(len(b)))
		last++
	}
	p := place{uint32(last), uint32(len(a.chunks[last])), uint32(len(b))}
	a.chunks[last] = append(a.chunks[last], b...)
	return p
}

func (a *arena) at(p place) []byte { return a.chunks[p.chunk][p.from : p.from+p.length] }

// replace puts b where p was, if there is room.
func (a *arena) replace(p place, b []byte) place {
	if len(b) > int(p.length) {
		return a.put(b)
	}
	p.length = uint32(copy(a.at(p), b))
	return p
}

// memory gives out chunks. The next is made ready beside the fold: to touch memory
// for the first time may take as long as to fill it.
type memory struct{ ready chan []byte }

const (
	chunkSize = 1 << 20
	pageSize  = 4 << 10
)

func newMemory() *memory {
	m := &memory{ready: make(chan []byte, 1)}
	go m.prepare()
	return m
}

// chunk has room for that many bytes at least.
func (m *memory) chunk(least int) []byte {
	if least > chunkSize {
		return make([]byte, 0, least)
	}
	chunk := <-m.ready
	go m.prepare()
	return chunk
}

func (m *memory) prepare() {
	chunk := make([]byte, chunkSize)
	for i := 0; i < chunkSize; i += pageSize {
		chunk[i] = 0
	}
	m.ready <- chunk[:0]
}

// chunked is a slice that grows without being copied.
type chunked[T any] struct {
	chunks [][]T
	length uint32
}

const rowsOfChunk = 1 << 13

func (l *chunked[T]) at(i uint32) *T { return &l.chunks[i/rowsOfChunk][i%rowsOfChunk] }

func (l *chunked[T]) add(one T) (at uint32) {
	at = l.length
	if at%rowsOfChunk == 0 {
		l.chunks = append(l.chunks, make([]T, rowsOfChunk))
	}
	l.length++
	*l.at(at) = one
	return at
}
