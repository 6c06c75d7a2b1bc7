package rebuild

import (
	"cmp"
	"context"
	"hash/maphash"
	"log/slog"

	"github.com/payfold/payfold/internal/codec"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/pipeline"
)

// input is a log that was read: its events by customer, and the names that several buckets have.
type input struct {
	events *spool
	shared map[uint64]struct{}
	last   uint64 // the last message
	digest []byte // of that message
}

const (
	bucketEvents = 1000 // whose rows stay in a core's cache
	maxBuckets   = 1 << 16
)

// bucketsFor returns the number of buckets for so many events, of which one bucket has about each.
func bucketsFor(count, each uint64) int { return int(min(count/each, maxBuckets-1)) + 1 }

// readInput reads the messages of a pipeline. The caller must close the events.
func readInput(ctx context.Context, log pipeline.Pipeline, buckets, memory int, logger *slog.Logger, read func(count int)) (*input, error) {
	in := &input{events: newSpool(buckets, memory/4*3)}
	names := newNames(buckets, memory/4)
	defer names.all.close()
	var record codec.Coder
	take := func(e *events.Event) error {
		bucket := int(maphash.String(seed, cmp.Or(e.Key, e.ID)) % uint64(buckets))
		if err := names.add(e, bucket); err != nil {
			return err
		}
		record.Out = record.Out[:0]
		code(&record, e)
		return in.events.add(bucket, record.Out)
	}
	err := log.Run(ctx, func(b *pipeline.Batch) error {
		for i := range b.Events {
			if err := take(&b.Events[i]); err != nil {
				return err
			}
		}
		in.last, in.digest = b.Seq(), b.Digest
		read(len(b.Events))
		return nil
	})
	if err == nil {
		in.events.seal()
		if written := in.events.written + names.all.written; written > 0 {
			logger.InfoContext(ctx, "the events do not fit in memory; some are in temporary files, which end with this process", "bytes", written)
		}
		in.shared, err = names.shared(ctx)
	}
	if err != nil {
		in.events.close()
		return nil, err
	}
	return in, nil
}
