package live

import (
	"context"
	"maps"
	"time"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/store"
)

// alone reports whether batches may be applied through a backlog: this projector has all
// partitions, at one position, and no event waits to be quarantined.
func (f *follower) alone() bool {
	for _, position := range f.at {
		if position != f.delivered {
			return false
		}
	}
	return len(f.at) == f.partitions && len(f.projector.quarantine.Pending) == 0
}

// applyBacklog folds a batch while the one before is written, and then begins to write it.
func (f *follower) applyBacklog(ctx context.Context, batch []events.Message) error {
	if f.backlog != nil && f.backlog.full() {
		if err := f.endBacklog(ctx); err != nil {
			return err
		}
	}
	if f.backlog == nil {
		var err error
		if f.backlog, err = newBacklog(ctx, f.projector.Store, f.projector.Rules); err != nil {
			return err
		}
	}
	current := f.backlog
	loading, cancel := context.WithTimeout(ctx, applyTimeout)
	defer cancel()
	folded, foldErr := current.fold(loading, batch)
	if f.writing != nil {
		if err := f.endWrite(ctx, <-current.result); err != nil {
			return err
		}
	}
	switch {
	case f.backlog != current: // the batch before was written in another way, so the fold is void
		return f.applyNext(ctx, batch)
	case canRepeat(foldErr):
		f.backlog = nil
		return f.applyAndRelease(ctx, batch)
	case foldErr != nil:
		return foldErr
	}
	last := batch[len(batch)-1]
	f.writing, f.began = folded, time.Now()
	current.write(ctx, folded, store.Advance{LogID: f.logID, From: maps.Clone(f.at), To: last.Seq, Digest: last.Digest()})
	return nil
}

// endWrite takes the result of the batch that was written. Where the backlog could not write
// it, the batch is applied without the backlog, which is dropped.
func (f *follower) endWrite(ctx context.Context, err error) error {
	folded := f.writing
	f.writing = nil
	switch {
	case canRepeat(err):
		f.backlog = nil
		return f.applyAndRelease(ctx, folded.messages)
	case err != nil:
		return err
	}
	last := folded.messages[len(folded.messages)-1]
	for partition := range f.at {
		f.at[partition] = last.Seq
	}
	f.delivered, f.digest, f.advancedAll = last.Seq, last.Digest(), f.began
	f.projector.observe(ctx, folded.result, f.began, last.Seq)
	f.release(folded.messages)
	return nil
}

// endBacklog waits for the batch that is written and drops the rows in memory.
func (f *follower) endBacklog(ctx context.Context) error {
	if f.writing != nil {
		if err := f.endWrite(ctx, <-f.backlog.result); err != nil {
			return err
		}
	}
	f.backlog = nil
	return nil
}

// dropBacklog waits until nothing is written any more.
func (f *follower) dropBacklog() {
	if f.writing != nil {
		<-f.backlog.result
	}
}
