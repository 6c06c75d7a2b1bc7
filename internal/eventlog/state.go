package eventlog

import (
	"context"
	"errors"
	"fmt"
	"time"
)

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
