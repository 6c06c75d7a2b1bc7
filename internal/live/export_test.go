package live

import "context"

// The two steps of Apply, for a test that stops between them.
var (
	AdvanceCheckpoints = advanceCheckpoints
	FoldAndSave        = foldAndSave
)

// HeartbeatOnce is heartbeat.
func (p *Projector) HeartbeatOnce(ctx context.Context, partitions int) (share, surplus []int, err error) {
	return p.heartbeat(ctx, partitions)
}
