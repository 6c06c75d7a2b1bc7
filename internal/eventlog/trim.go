package eventlog

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// errTrimmed means that the server has removed messages that a reader still needs. The archive has
// them.
var errTrimmed = fmt.Errorf("%w: the server has removed messages that this reader still needs, and the archive has them", ErrDisconnected)

// Trim removes messages of the stream that are before seq, and returns the oldest sequence that the
// server then has. The archive must have the messages before seq. An embedded server removes only
// whole files, and never the newest, so it can keep more. The stream must have been made with
// Trimmable. After an error or a kill Trim can be called again. Only one goroutine may call it at a
// time; other processes may call it, too.
func (l *Log) Trim(ctx context.Context, seq uint64) (first uint64, err error) {
	info, err := l.trimmable(ctx, seq)
	if err != nil || seq <= info.ServerFirst {
		return info.ServerFirst, err
	}
	steps := []uint64{seq}
	if l.server != nil {
		if steps, err = l.server.syncer.Trim(seq); err != nil {
			return 0, err
		}
	}
	stream, err := l.js.Stream(ctx, l.name)
	if err != nil {
		return 0, fmt.Errorf("trim the stream: %w", err)
	}
	for _, next := range steps { // each holds up deliveries for a moment
		if next > seq {
			return 0, fmt.Errorf("the stream was to be trimmed to seq %d, and not to seq %d", seq, next)
		}
		if err := stream.Purge(ctx, jetstream.WithPurgeSequence(next)); err != nil {
			return 0, fmt.Errorf("trim the stream to seq %d: %w", next, err)
		}
	}
	if info, err = l.Info(ctx); err != nil {
		return 0, err
	}
	if info.ServerFirst > seq {
		return 0, fmt.Errorf("the stream was to be trimmed to seq %d, and now begins with seq %d", seq, info.ServerFirst)
	}
	return info.ServerFirst, nil
}

// TrimPoint returns the sequence that Trim would return, and removes nothing.
func (l *Log) TrimPoint(ctx context.Context, seq uint64) (first uint64, err error) {
	info, err := l.trimmable(ctx, seq)
	if err == nil && l.server != nil {
		seq, err = l.server.syncer.TrimPoint(seq)
	}
	return max(info.ServerFirst, seq), err
}

// trimmable returns an error if the stream must not be trimmed, or not to seq.
func (l *Log) trimmable(ctx context.Context, seq uint64) (Info, error) {
	info, err := l.Info(ctx)
	switch {
	case err != nil:
	case info.Unsafe != nil:
		err = info.Unsafe
	case !info.Trimmable:
		err = errors.New("the stream was made so that it keeps every message")
	case seq > info.Last:
		err = fmt.Errorf("the log ends with seq %d and cannot be trimmed to seq %d", info.Last, seq)
	}
	return info, err
}

// skipped returns why the server has delivered another message than next.
func (l *Log) skipped(ctx context.Context, next, got uint64) error {
	if info, err := l.Info(ctx); err == nil && info.Trimmable && next < info.ServerFirst {
		return errTrimmed // got can have been removed since, by another trim
	}
	return fmt.Errorf("the log skips from seq %d to %d: it has lost messages or is another log", next-1, got)
}
