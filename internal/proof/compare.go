package proof

import (
	"context"

	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/fingerprint"
)

// Log is what this package needs from the event log.
type Log interface {
	Info(ctx context.Context) (eventlog.Info, error)
	ReadUntil(ctx context.Context, from, until uint64, deliver func(events.Message) error) error
}

// Progress is called now and then with the sequence that was read last, and with the last sequence
// that will be read. It may be nil.
type Progress func(position, until uint64)

// progressMessages is the number of messages between two calls of a Progress.
const progressMessages = 10_000

// Compare reads the messages that the checkpoint covers and hashes them again. It returns a
// RefusedError unless the log begins with exactly these messages. Later messages do not
// matter.
func Compare(ctx context.Context, log Log, c Checkpoint, progress Progress) error {
	info, err := log.Info(ctx)
	if err == nil {
		_, err = treeOf(ctx, log, info, c, progress)
	}
	return err
}

// Cover returns the checkpoint, without an Origin, of the log's messages up to sequence until. It returns a RefusedError
// if the log is not the one with this id, or does not have them all.
func Cover(ctx context.Context, log Log, logID string, until uint64) (c Checkpoint, err error) {
	info, err := log.Info(ctx)
	if err != nil {
		return c, err
	}
	switch {
	case info.LogID != logID:
		return c, refuse("it is log %s, and not log %s", info.LogID, logID)
	case info.Last < until:
		return c, refuse("the log ends at seq %d, before seq %d", info.Last, until)
	}
	c = Checkpoint{LogID: logID, First: info.First, Size: max(until+1, info.First) - info.First}
	var tree fingerprint.Tree
	err = grow(ctx, log, &tree, c.First, c.Size, nil)
	c.Root = tree.Root()
	return c, err
}

// treeOf is Compare that also returns the tree of the messages.
func treeOf(ctx context.Context, log Log, info eventlog.Info, c Checkpoint, progress Progress) (tree fingerprint.Tree, err error) {
	if err = covers(info, c); err == nil {
		err = grow(ctx, log, &tree, c.First, c.Size, progress)
	}
	if err == nil {
		err = sameRoot(tree.Root(), c)
	}
	return tree, err
}

// covers returns a RefusedError if the log's Info already shows that the log does not begin with
// the messages of the checkpoint.
func covers(info eventlog.Info, c Checkpoint) error {
	switch has := info.Last + 1 - info.First; {
	case info.LogID != c.LogID:
		return refuse("the checkpoint is of log %s, and this is log %s", c.LogID, info.LogID)
	case info.First != c.First:
		return refuse("the checkpoint begins at seq %d, and the log begins at seq %d", c.First, info.First)
	case has < c.Size:
		return refuse("the log is too short: the checkpoint covers %d messages up to seq %d, and the log ends at seq %d", c.Size, c.Last(), info.Last)
	}
	return nil
}

// sameRoot compares the root of the log's first messages with the checkpoint.
func sameRoot(root fingerprint.Hash, c Checkpoint) error {
	if root != c.Root {
		return refuse("the log does not begin with the %d messages of the checkpoint: up to seq %d a message was changed, moved, added or removed", c.Size, c.Last())
	}
	return nil
}

// grow adds the log's messages to a tree of its first ones, until the tree has that size.
func grow(ctx context.Context, log Log, tree *fingerprint.Tree, first, size uint64, progress Progress) error {
	return read(ctx, log, first+tree.Size(), first+size, progress, func(_ events.Message, leaf fingerprint.Hash) { tree.Append(leaf) })
}

// read calls take with the messages from sequence from on and before end, and with their
// leaves. A message's body is valid only until take returns.
func read(ctx context.Context, log Log, from, end uint64, progress Progress, take func(events.Message, fingerprint.Hash)) error {
	if from >= end {
		return nil
	}
	return log.ReadUntil(ctx, from, end-1, func(m events.Message) error {
		take(m, fingerprint.Leaf(m))
		if progress != nil && m.Seq%progressMessages == 0 {
			progress(m.Seq, end-1)
		}
		return nil
	})
}
