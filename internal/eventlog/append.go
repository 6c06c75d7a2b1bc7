package eventlog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/payfold/payfold/internal/eventlog/wire"
	"github.com/payfold/payfold/internal/events"
)

// Append stores one delivery and returns when it is durable. duplicate is true if the
// log already had an event with this id within its duplicate window: then nothing was
// added, and the first event is durable too. After an error the delivery may or may not
// have been stored: the caller must not confirm it, and may try again.
func (l *Log) Append(ctx context.Context, d events.Delivery) (duplicate bool, err error) {
	partitions, err := l.writable(ctx)
	if err != nil {
		return false, fmt.Errorf("append %s: %w", d.Event.ID, err)
	}
	duplicate, err = l.committer.append(ctx, wire.New(d, l.name, partitions))
	if err == nil { // the stream may have been replaced meanwhile, or the server
		_, err = l.writable(ctx)
	}
	if err != nil {
		switch {
		case errors.Is(err, jetstream.ErrNoStreamResponse):
			l.state.Store(nil) // the stream is gone; a new one may have other settings
		case errors.Is(err, context.DeadlineExceeded):
			err = l.timedOut(err)
		}
		return false, fmt.Errorf("append %s: %w", d.Event.ID, err)
	}
	return duplicate, nil
}

// stateTimeout bounds one question to the server; several callers may share its answer.
const stateTimeout = 2 * time.Second

// maxStateAge is how long an answer is used. An administrator can change the stream at any
// time and the server does not announce it. Watch asks more often than this.
const maxStateAge = 10 * time.Second

// Ready asks the server whether appends can be confirmed. It returns nil if the stream
// exists, its leader answers and its settings keep every event. Appends use the answer too.
func (l *Log) Ready(ctx context.Context) error {
	_, err := l.readState(ctx)
	return err
}

// readState is Ready that also returns the stream's description. An UnsafeError comes with
// a description too.
func (l *Log) readState(ctx context.Context) (Info, error) {
	// Concurrent callers share one answer. The end of one caller's context does not end the
	// question of the others.
	answer := l.stateRequests.DoChan("", func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stateTimeout)
		defer cancel()
		return l.check(ctx)
	})
	select {
	case result := <-answer:
		return result.Val.(Info), result.Err
	case <-ctx.Done():
		return Info{}, ctx.Err()
	}
}

func (l *Log) check(ctx context.Context) (Info, error) {
	now := streamState{asked: time.Now(), connection: l.connections()}
	info, err := l.Info(ctx)
	switch {
	case errors.Is(err, ErrNoStream):
		l.state.Store(nil) // the stream is gone; a new one may have other settings
	case err == nil:
		now.partitions, now.unsafe, err = info.Partitions, info.Unsafe, info.Unsafe
		l.state.Store(&now)
	}
	return info, err
}

// writable returns the number of partitions, and an error if nothing can be confirmed now.
// It asks the server if the last answer is too old or came through another connection.
func (l *Log) writable(ctx context.Context) (partitions int, err error) {
	now := l.state.Load()
	if now == nil || time.Since(now.asked) > maxStateAge || now.connection != l.connections() {
		if err := l.Ready(ctx); err != nil {
			return 0, err
		}
		if now = l.state.Load(); now == nil || now.connection != l.connections() {
			return 0, fmt.Errorf("%w: the connection was lost during the check", ErrDisconnected)
		}
	}
	return now.partitions, now.unsafe
}

// connections counts the connections so far.
func (l *Log) connections() uint64 {
	return l.conn.Stats().Reconnects
}

// streamState is the server's last answer about the stream.
type streamState struct {
	partitions int
	unsafe     error // why nothing is confirmed: an UnsafeError, or nil
	asked      time.Time
	connection uint64 // the number of the connection that the question went through
}

// healthTimeout is how long a delivery waits for the server's health after its own time is
// over. With the longest PUBLISH_TIMEOUT its answer is still sent within five seconds.
const healthTimeout = 250 * time.Millisecond

var errNoAnswer = errors.New("the log does not answer")

// timedOut returns err, of an append or of a question about the stream that had no answer in time. If the embedded
// server does not tell its health, either, it adds that. If that server stores nothing any more, every later append
// fails, even if the server says so only after timedOut has returned.
func (l *Log) timedOut(err error) error {
	if l.server == nil {
		return err
	}
	// While a write to the disk hangs, the server does not answer. So callers share a question, and do not wait for its
	// end.
	answered := l.server.healthQuestions.DoChan("", func() (any, error) {
		if reason := l.server.health(); reason != nil {
			l.committer.fail(reason)
		}
		return nil, nil
	})
	ctx, cancel := context.WithTimeout(context.Background(), healthTimeout)
	defer cancel()
	select {
	case <-answered:
		return err
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", errNoAnswer, err)
	}
}
