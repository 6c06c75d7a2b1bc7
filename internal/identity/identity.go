// Package identity checks whether tables were folded from a log, and returns their positions
// in it.
package identity

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/store"
)

// ErrLogLost means that the log ends before the positions of the tables, or has other messages
// there.
var ErrLogLost = errors.New("the log is not the one these tables were folded from")

// log is what Check needs of the event log.
type log interface {
	Info(ctx context.Context) (eventlog.Info, error)
	Message(ctx context.Context, seq uint64) (events.Message, error)
}

// tables is what Check needs of the tables.
type tables interface {
	Checkpoints(ctx context.Context) ([]store.Checkpoint, error)
}

// callTimeout bounds the read of the checkpoints and the head in Check, and the read of each
// message.
const callTimeout = 2 * time.Second

// Positions has the position of each partition. The tables have all messages of the
// partition up to it.
type Positions []uint64

// PositionsOf returns the positions of a log's partitions, 0 for those that at does not have.
func PositionsOf(at map[int]uint64, partitions int) Positions {
	p := make(Positions, partitions)
	for partition, position := range at {
		p[partition] = position
	}
	return p
}

// LowestOf returns the lowest position of the partitions in share; 0 if share is empty.
func (p Positions) LowestOf(share []int) uint64 {
	var least uint64
	for i, partition := range share {
		if i == 0 || p[partition] < least {
			least = p[partition]
		}
	}
	return least
}

// Lowest returns the lowest position.
func (p Positions) Lowest() uint64 { return slices.Min(p) }

// Highest returns the highest position.
func (p Positions) Highest() uint64 { return slices.Max(p) }

// Check compares the checkpoints with the log: its id, its head, and the messages at the positions.
// The error is ErrLogLost if the log was lost, cut short or replaced.
func Check(ctx context.Context, log log, tables tables, info eventlog.Info) (Positions, error) {
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	checkpoints, err := tables.Checkpoints(call)
	if err != nil {
		return nil, err
	}
	if len(checkpoints) != info.Partitions {
		return nil, fmt.Errorf("%w: the tables have %d partitions, the log has %d", ErrLogLost, len(checkpoints), info.Partitions)
	}
	for _, c := range checkpoints {
		if c.Position <= info.Last {
			continue
		}
		// The log may have grown since info, and other projectors have applied more.
		now, err := log.Info(call)
		if err != nil {
			return nil, err
		}
		if now.LogID == info.LogID {
			info.Last = now.Last
		}
		break
	}
	out := make(Positions, len(checkpoints))
	compared := map[uint64]bool{}
	for i, c := range checkpoints {
		out[i] = c.Position
		if compared[c.Position] {
			continue
		}
		compared[c.Position] = true
		if err := checkOne(ctx, log, info, c); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func checkOne(ctx context.Context, log log, info eventlog.Info, c store.Checkpoint) error {
	switch {
	case c.LogID != info.LogID:
		return fmt.Errorf("%w: its log_id is %s, partition %d was folded from %s", ErrLogLost, info.LogID, c.Partition, c.LogID)
	case c.Position == 0, c.Position+1 == info.First && c.Digest == nil: // nothing is applied yet, or the log was adopted
		return nil
	case c.Position > info.Last:
		return fmt.Errorf("%w: it ends at seq %d, partition %d is applied up to seq %d; restore the log; where these messages are lost, see: ingest restore --lost-until and projector adopt-log",
			ErrLogLost, info.Last, c.Partition, c.Position)
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	message, err := log.Message(ctx, c.Position)
	if err != nil {
		return err
	}
	if !bytes.Equal(message.Digest(), c.Digest) && !message.Lost() {
		return fmt.Errorf("%w: the message at seq %d is not the one that was applied", ErrLogLost, c.Position)
	}
	return nil
}
