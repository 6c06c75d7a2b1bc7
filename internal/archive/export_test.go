package archive

import "context"

// Step looks at the log once and does what is due.
func (a *Archiver) Step(ctx context.Context) error { return a.step(ctx) }

// TreeSize is the number of leaves of the Merkle tree up to the segment's end.
func (i *Info) TreeSize() uint64 { return i.tree.Size() }

// Segments returns what holds the records, in order.
func (a *Archive) Segments() []*Info { return a.segments }
