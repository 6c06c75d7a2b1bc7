package live

import "context"

// The steps of Apply, for a test that stops between them.
var (
	AdvanceFirst = advanceFirst
	FoldAndSave  = foldAndSave
)

// HeartbeatOnce is heartbeat.
func (p *Projector) HeartbeatOnce(ctx context.Context, partitions int) (share, over []int, err error) {
	return p.heartbeat(ctx, partitions)
}
