package live

import (
	"context"
	"maps"
	"time"

	"github.com/payfold/payfold/internal/store"
)

// isBacklog reports whether the batch is so large that more messages probably wait.
func (f *follower) isBacklog(batch []message) bool {
	const share = 8 // of a full batch
	return share*len(batch) > f.projector.BatchSize
}

// mayUseBacklog reports whether batches may be applied through a backlog: this projector has all
// partitions, at one position.
func (f *follower) mayUseBacklog() bool {
	for _, position := range f.at {
		if position != f.delivered {
			return false
		}
	}
	return len(f.at) == len(f.mine)
}

// applyBacklog folds a batch while Postgres writes the batch before, and then starts to write it.
func (f *follower) applyBacklog(ctx context.Context, batch []message) error {
	if f.backlog != nil && f.backlog.full() {
		if err := f.endBacklog(ctx); err != nil {
			return err
		}
	}
	loading, cancel := context.WithTimeout(ctx, applyTimeout)
	defer cancel()
	if f.backlog == nil {
		var err error
		if f.backlog, err = newBacklog(loading, f.projector.Store, f.projector.Rules); err != nil {
			return err
		}
	}
	folded, foldErr := f.backlog.fold(loading, batch)
	if f.writing != nil {
		if err := f.endWrite(ctx, <-f.backlog.result); err != nil {
			return err
		}
		if f.backlog == nil { // the batch was folded on rows that the tables do not have
			return f.applyNext(ctx, batch)
		}
	}
	switch {
	case foldErr == nil:
		f.startWrite(ctx, folded)
		return nil
	case canRepeat(foldErr):
		f.backlog = nil
		return f.applyAndRelease(ctx, batch)
	}
	return foldErr
}

func (f *follower) startWrite(ctx context.Context, folded *foldedBatch) {
	folded.began = time.Now()
	f.writing = folded
	last := folded.last()
	f.backlog.write(ctx, folded, store.Advance{LogID: f.logID, From: maps.Clone(f.at), To: last.Seq, Digest: last.Digest()})
}

// endWrite handles the result of a write. If the batch was not written and Apply can apply it, endWrite drops the
// backlog and applies the batch.
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
	last := folded.last()
	for partition := range f.at {
		f.at[partition] = last.Seq
	}
	f.delivered, f.digest, f.advancedAll = last.Seq, last.Digest(), folded.began
	f.projector.observe(ctx, folded.result, folded.began, last.Seq)
	f.projector.trace(folded.messages, folded.result, folded.began)
	f.release(folded.messages)
	return nil
}

// endBacklog waits for the batch that is being written and drops the rows in memory.
func (f *follower) endBacklog(ctx context.Context) error {
	if f.writing != nil {
		if err := f.endWrite(ctx, <-f.backlog.result); err != nil {
			return err
		}
	}
	f.backlog = nil
	return nil
}

// awaitWrite waits until nothing is written any more.
func (f *follower) awaitWrite() {
	if f.writing != nil {
		<-f.backlog.result
	}
}
