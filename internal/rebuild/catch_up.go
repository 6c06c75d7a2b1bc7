package rebuild

import (
	"context"
	"errors"
	"maps"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/identity"
	"github.com/payfold/payfold/internal/live"
	"github.com/payfold/payfold/internal/pipeline"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
)

// catchUp applies the messages after the positions of the tables up to until, as a projector does, in transactions of up
// to size messages.
func (r *Rebuild) catchUp(ctx context.Context, t *target, at identity.Positions, until, size uint64) error {
	if err := t.makeIndexes(ctx, tables.Complete); err != nil { // which find the rows
		return err
	}
	r.Progress(at.Lowest(), until)
	log := pipeline.Pipeline{Log: r.Log, From: at.Lowest() + 1, Until: until, MaxMessages: size, Decode: r.decode(at)}
	return log.Run(ctx, func(b *pipeline.Batch) error {
		if err := r.apply(ctx, t, b); err != nil {
			return err
		}
		r.Progress(b.Seq(), until)
		return nil
	})
}

// apply applies the next events, and moves the positions that are before their last message.
func (r *Rebuild) apply(ctx context.Context, t *target, batch *pipeline.Batch) error {
	to := batch.Seq()
	behind := maps.Clone(t.positions)
	maps.DeleteFunc(behind, func(_ int, at uint64) bool { return at >= to })
	advance := store.Advance{LogID: t.logID, From: behind, To: to, Digest: batch.Digest}
	_, err := live.Apply(ctx, r.Store, r.Rules, batch.Events, advance)
	if errors.As(err, new(*store.RefusedError)) && len(batch.Events) == 1 && len(r.Rules.Extras) == 0 && !r.Scratch {
		err = r.applyRefused(ctx, batch.Events[0], advance, err)
	}
	if err != nil {
		return err
	}
	for partition := range behind {
		t.positions[partition] = to
	}
	return nil
}

// applyRefused applies one event that the database has refused, or quarantines it and returns errQuarantined.
func (r *Rebuild) applyRefused(ctx context.Context, event events.Event, advance store.Advance, cause error) error {
	if err := r.quarantine.CheckRoom(cause); err != nil {
		return err
	}
	_, quarantined, err := live.ApplyOrQuarantine(ctx, r.Store, r.Rules, event, advance)
	if err == nil && quarantined != nil {
		r.quarantine.Recorded(ctx, r.Logger, event.Seq, quarantined)
		err = errQuarantined
	}
	return err
}
