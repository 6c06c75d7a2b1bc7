package store

import (
	"context"
	_ "embed"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

//go:embed blocking.sql
var blockingSQL string

// blockingInterval is longer than most waits for a lock.
const blockingInterval = 3 * time.Second

// LogBlocking logs which sessions of other programs hold the locks for which this process waits, until stop.
func (s *Store) LogBlocking(ctx context.Context, logger *slog.Logger) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var looking sync.WaitGroup
	looking.Go(func() {
		ticker := time.NewTicker(blockingInterval)
		defer ticker.Stop()
		for logged := ""; ; {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			sessions, err := Collect(ctx, s.pool, "look for who holds a lock", pgx.RowTo[string], blockingSQL, ApplicationName+s.Owner())
			if held := strings.Join(sessions, ", "); err == nil && held != "" && held != logged {
				logger.WarnContext(ctx, "waiting for a lock that another session holds", "held_by", held)
				logged = held
			}
		}
	})
	return func() {
		cancel()
		looking.Wait()
	}
}
