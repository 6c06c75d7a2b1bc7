package rebuild

import (
	"cmp"
	"context"
	"sync"

	"github.com/payfold/payfold/internal/identity"
	"github.com/payfold/payfold/internal/pipeline"
	"github.com/payfold/payfold/internal/store"
)

// fill folds the messages after begin up to until into empty tables. The error may be a store.RefusedError; the tables are
// empty as before.
func (r *Rebuild) fill(ctx context.Context, t *target, begin, until uint64) error {
	memory := cmp.Or(r.memory, usualMemory())
	done := &progress{report: r.Progress, begin: begin, until: until}
	done.add(0)
	decode := r.decode(make(identity.Positions, len(t.positions)))
	log := pipeline.Pipeline{Log: r.Log, From: begin + 1, Until: until, Decode: decode}
	in, err := readInput(ctx, log, bucketsFor(until-begin, cmp.Or(r.bucket, bucketEvents)), memory, r.Logger, done.add)
	if err != nil {
		return err
	}
	defer in.events.close()
	quarantined, err := t.quarantined(ctx)
	if err != nil {
		return err
	}
	f := newFolding(r.Rules, quarantined, newConnected(in.shared, in.events.buckets, memory/2), done.add)
	defer f.connected.events.close()
	advance := store.Advance{LogID: t.logID, From: t.positions, To: in.last, Digest: in.digest}
	err = t.fill(ctx, advance, f.ofManyCustomers, func(ctx context.Context, write func(context.Context, [][]byte) error) error {
		return f.all(ctx, in, memory/2, write)
	})
	if err != nil {
		return err
	}
	r.Progress(until, until)
	return nil
}

// progress reports reading and folding as one way from begin to until. Each is half of it.
type progress struct {
	mu           sync.Mutex
	report       func(position, until uint64)
	begin, until uint64
	done         uint64 // events read and events folded
}

// add notes that so many more events are read or folded.
func (p *progress) add(count int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += uint64(count)
	p.report(min(p.begin+p.done/2, p.until-1), p.until)
}
