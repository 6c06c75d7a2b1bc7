package archive

import "context"

// Step looks at the log once and does what is due.
func (a *Archiver) Step(ctx context.Context) error { return a.step(ctx) }

// Segments returns what holds the records, in order.
func (a *Archive) Segments() []*Info { return a.segments }

// Step removes what does not have to be kept now.
func (t *Trimmer) Step(ctx context.Context) error { return t.step(ctx) }
