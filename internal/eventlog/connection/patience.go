package connection

import (
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// serverPatience is longer than the election of a leader, during which no server can answer.
const serverPatience = 10 * time.Second

// Patience moves a connection to another server when its server answers nothing about the log for ten seconds. Such a
// server runs, but is cut off from the others of its cluster, and the connection to it would stay for ever. Patience is
// safe for concurrent use. A nil Patience does nothing.
type Patience struct {
	conn   *nats.Conn
	limit  time.Duration
	logger *slog.Logger

	mu     sync.Mutex
	server string    // the server that was asked last
	since  time.Time // when it first gave no answer; zero after an answer
}

// NewPatience returns a Patience for a connection to a cluster.
func NewPatience(conn *nats.Conn, logger *slog.Logger) *Patience {
	return &Patience{conn: conn, limit: serverPatience, logger: logger}
}

// Asked notes whether a question was answered.
func (p *Patience) Asked(answered bool) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	server, now := p.conn.ConnectedAddr(), time.Now()
	switch {
	case answered:
		p.since = time.Time{}
	case p.since.IsZero() || server != p.server:
		p.since = now
	case now.Sub(p.since) >= p.limit:
		p.since = time.Time{}
		p.logger.Warn("the log's server answers nothing about the stream; another one is tried", "server", server)
		_ = p.conn.ForceReconnect() // it fails if the connection is closed
	}
	p.server = server
}

// IsLeaderless reports whether a stream with replicas has no leader. A server that is cut off from
// the others still describes the stream as it last knew it.
func IsLeaderless(info *jetstream.StreamInfo) bool {
	return info.Config.Replicas > 1 && info.Cluster != nil && info.Cluster.Leader == ""
}
