package archive

import "context"

// Step looks at the log once and does what is due.
func (a *Archiver) Step(ctx context.Context) error { return a.step(ctx) }

// StopAt returns a folder that calls step before each change of the file system.
func StopAt(path string, step func(name string) error) Place {
	f := newFolder(path)
	f.step = step
	return f
}

// TreeSize is the number of leaves of the Merkle tree up to the segment's end.
func (i *Info) TreeSize() uint64 { return i.tree.Size() }

// CloseIdle closes the connections of a bucket.
func CloseIdle(place Place) { place.(*bucket).transport.CloseIdleConnections() }

// Segments returns what holds the records, in order.
func (a *Archive) Segments() []*Info { return a.segments }
