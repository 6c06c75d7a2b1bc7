package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
)

// turnLock is held by the projector that works; others wait for it.
const turnLock = 0x7061_7966_6f6c_6402

// Turn is the right to be the one projector that reads. It makes waiting
// cheap; the checkpoints make it safe: a projector that lost its turn without
// noticing is fenced off by them.
type Turn struct{ connection *pgxpool.Conn }

// TakeTurn returns nil where another projector has the turn.
func (s *Store) TakeTurn(ctx context.Context) (*Turn, error) {
	connection, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect to the database: %w", err)
	}
	var taken bool
	if err := connection.QueryRow(ctx, "select pg_try_advisory_lock($1)", int64(turnLock)).Scan(&taken); err != nil {
		connection.Release()
		return nil, fmt.Errorf("ask for the turn: %w", err)
	}
	if !taken {
		connection.Release()
		return nil, nil
	}
	return &Turn{connection}, nil
}

// Check fails when the turn was lost with its connection.
func (t *Turn) Check(ctx context.Context) error { return t.connection.Ping(ctx) }

// Release gives the turn to whoever waits. Closing the connection is what the
// server understands in any state.
func (t *Turn) Release() {
	_ = t.connection.Hijack().Close(context.Background())
}
