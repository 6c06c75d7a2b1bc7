package eventlog

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// standing is what the server said of the stream when it was last asked.
type standing struct {
	partitions int
	unsafe     error // why nothing is confirmed; an UnsafeError, or nil
	asked      time.Time
	connection uint64 // the how manyth connection it was asked on
}

// checkTimeout bounds a question about the stream that several wait for.
const checkTimeout = 2 * time.Second

// maxStanding is how long an answer counts. An administrator may change the stream at
// any time, and the server tells nobody; Watch asks more often than this.
const maxStanding = 10 * time.Second

// Ready asks the server whether appends can be confirmed: nil where the stream is
// there, its leader answers and its settings keep every event. Appends go by the answer.
func (l *Log) Ready(ctx context.Context) error {
	_, err := l.stand(ctx)
	return err
}

// stand is Ready with what the server said, which is there beside an UnsafeError too.
func (l *Log) stand(ctx context.Context) (Info, error) {
	// Whoever asks at the same time shares one answer, and nobody's end is another's.
	answer := l.asking.DoChan("", func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), checkTimeout)
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
	now := standing{asked: time.Now(), connection: l.connections()}
	info, err := l.Info(ctx)
	switch {
	case errors.Is(err, ErrNoStream):
		l.standing.Store(nil) // gone, and perhaps another one tomorrow
	case err == nil:
		now.partitions, now.unsafe, err = info.Partitions, info.Unsafe, info.Unsafe
		l.standing.Store(&now)
	}
	return info, err
}

// writable says how many partitions there are, and why nothing can be confirmed now. It
// asks the server where nobody has done so lately, on this connection.
func (l *Log) writable(ctx context.Context) (partitions int, err error) {
	now := l.standing.Load()
	if now == nil || time.Since(now.asked) > maxStanding || now.connection != l.connections() {
		if err := l.Ready(ctx); err != nil {
			return 0, err
		}
		if now = l.standing.Load(); now == nil || now.connection != l.connections() {
			return 0, fmt.Errorf("%w: it went away while it was asked", ErrDisconnected)
		}
	}
	return now.partitions, now.unsafe
}

func (l *Log) connections() uint64 { return l.conn.Stats().Reconnects }
