package live

import (
	"context"
	"slices"

	"github.com/payfold/payfold/internal/identity"
)

// reached has the newest positions of the tables that this process knows, for one log.
type reached struct {
	logID     string
	positions identity.Positions
}

// noticeSetBack logs and counts when the tables are at earlier positions than before: their database has lost commits,
// for example in a fail-over to a standby that was behind. The messages are folded again from the remaining
// checkpoints, so nothing is missing in the end.
func (p *Projector) noticeSetBack(ctx context.Context, logID string, now identity.Positions) {
	before := p.reached
	p.reached = reached{logID, slices.Clone(now)}
	if before.logID != logID || len(before.positions) != len(now) {
		return
	}
	setBack, was := []int{}, uint64(0)
	for partition, position := range now {
		if position < before.positions[partition] {
			setBack, was = append(setBack, partition), max(was, before.positions[partition])
		}
	}
	if len(setBack) == 0 {
		return
	}
	p.metrics.setBacks.Inc()
	p.Logger.WarnContext(ctx, "the tables were set back: the database has lost commits; their messages are folded again",
		"partitions", len(setBack), "position", now.LowestOf(setBack), "position_before", was)
}

// noteReached notes the positions of a share when the work on it has ended.
func (p *Projector) noteReached(positions map[int]uint64) {
	for partition, position := range positions {
		p.reached.positions[partition] = position
	}
}
