package eventlog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/eventlog/blockstore"
	"github.com/payfold/payfold/internal/eventlog/wire"
)

// ErrNotEmpty means that there is already a log where one was to be restored.
var ErrNotEmpty = errors.New("there is a log already")

// Restoration creates a lost log again, with its id, its sequences, and messages that read like the
// old ones. The stream is marked until Finish, so that nobody uses an incomplete log. It is not
// safe for concurrent use.
type Restoration struct {
	log     *Log
	js      jetstream.JetStream
	next    uint64
	waiting []jetstream.PubAckFuture // for the server's answers, in order
	bytes   int                      // sent to the server since the last flush
}

const (
	maxUnanswered     = 2048     // messages that wait for their answer
	maxUnflushedBytes = 16 << 20 // of bodies that one flush has to write
)

// answerTimeout bounds the wait for an answer, also of a busy server.
const answerTimeout = time.Minute

// Restore creates the stream that config describes, or continues with it after an interruption.
// config must have a LogID. The error is ErrNotEmpty if there is a stream that no restore of this
// log has begun; nothing is changed then.
func (l *Log) Restore(ctx context.Context, config StreamConfig) (*Restoration, error) {
	connecting, cancel := context.WithTimeout(ctx, l.request)
	defer cancel()
	if err := l.awaitConnection(connecting); err != nil {
		return nil, err
	}
	js, err := jetstream.New(l.conn, jetstream.WithPublishAsyncMaxPending(2*maxUnanswered), jetstream.WithPublishAsyncTimeout(answerTimeout))
	if err != nil {
		return nil, fmt.Errorf("use JetStream: %w", err)
	}
	stream, err := js.Stream(ctx, config.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		stream, err = js.CreateStream(ctx, config.restoring())
	}
	if err != nil {
		return nil, fmt.Errorf("create stream %s: %w", config.Name, err)
	}
	have := stream.CachedInfo()
	switch begun := have.Config.Metadata; {
	case begun[blockstore.MetaRestoring] == "":
		return nil, fmt.Errorf("%w: stream %s, log %s; to restore one here, stop ingest and move this one away first", ErrNotEmpty, config.Name, begun[blockstore.MetaLogID])
	case begun[blockstore.MetaLogID] != config.LogID:
		return nil, fmt.Errorf("%w: stream %s, into which log %s is being restored", ErrNotEmpty, config.Name, begun[blockstore.MetaLogID])
	case (begun[blockstore.MetaTrimmable] != "") != config.Trimmable:
		return nil, errors.New("this restore was begun with LOG_KEEP set, or without it: go on in the same way, or remove what it has restored")
	}
	l.restoring = true
	info, err := l.Info(ctx)
	if err == nil && (info.Partitions != config.Partitions || info.Messages > 0 && info.First != max(config.FirstSeq, 1)) {
		err = fmt.Errorf("stream %s has %d partitions and begins at seq %d, the archive has %d and begins at seq %d",
			config.Name, info.Partitions, info.First, config.Partitions, max(config.FirstSeq, 1))
	}
	if err == nil {
		err = info.Unsafe
	}
	if err != nil {
		return nil, err
	}
	last := max(have.State.LastSeq, max(config.FirstSeq, 1)-1)
	l.committer.begin(last)
	return &Restoration{log: l, js: js, next: last + 1}, l.beginStream()
}

// Next is the sequence of the next message to append.
func (r *Restoration) Next() uint64 { return r.next }

// Append sends the next message. It is durable after Flush.
func (r *Restoration) Append(ctx context.Context, record archive.Record) error {
	if record.Seq != r.next {
		return fmt.Errorf("the archive gives seq %d instead of %d", record.Seq, r.next)
	}
	message := wire.Restored(record.Seq, record.Partition, record.StoredAt, record.Header, bytes.Clone(record.Body))
	message.Subject = restoringPrefix + strings.TrimPrefix(message.Subject, wire.SubjectPrefix)
	answer, err := r.js.PublishMsgAsync(message)
	if err != nil {
		return fmt.Errorf("restore seq %d: %w", record.Seq, err)
	}
	r.next++
	r.waiting, r.bytes = append(r.waiting, answer), r.bytes+len(record.Body)
	if r.bytes >= maxUnflushedBytes {
		return r.Flush(ctx)
	}
	return r.await(ctx, maxUnanswered)
}

// await waits until at most left messages have no answer.
func (r *Restoration) await(ctx context.Context, left int) error {
	for len(r.waiting) > left {
		seq := r.next - uint64(len(r.waiting))
		select {
		case answer := <-r.waiting[0].Ok():
			if answer.Sequence != seq || answer.Duplicate {
				return fmt.Errorf("restore seq %d: the server has stored it as seq %d", seq, answer.Sequence)
			}
		case err := <-r.waiting[0].Err():
			return fmt.Errorf("restore seq %d: %w", seq, err)
		case <-ctx.Done():
			return ctx.Err()
		}
		r.waiting = r.waiting[1:]
	}
	return nil
}

// Flush returns when everything that was appended is durable.
func (r *Restoration) Flush(ctx context.Context) error {
	if err := r.await(ctx, 0); err != nil {
		return err
	}
	r.bytes = 0
	_, err := r.log.committer.confirm(ctx, r.next-1)
	return err
}

// Finish removes the mark. From then on the stream is the log. Everything must be durable before. With
// the embedded server, the removal itself is durable when Server.Close has returned.
func (r *Restoration) Finish(ctx context.Context) error {
	stream, err := r.js.Stream(ctx, r.log.name)
	if err == nil {
		_, err = r.js.UpdateStream(ctx, restored(stream.CachedInfo().Config))
	}
	if err != nil {
		return fmt.Errorf("finish the restore: %w", err)
	}
	r.log.restoring = false
	return nil
}
