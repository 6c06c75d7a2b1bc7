package connection

import (
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// serverPatience is longer than an election takes, in which no server can answer.
const serverPatience = 10 * time.Second

// Patience makes a connection go to another server when the one that it has answers nothing about the
// log for ten seconds. Such a server runs, and is cut off from the others of its cluster: the
// connection to it would stay for ever. Safe for concurrent use; a nil Patience does nothing.
type Patience struct {
	conn   *nats.Conn
	limit  time.Duration
	logger *slog.Logger

	mu     sync.Mutex
	server string    // that was asked last
	since  time.Time // when it first gave no answer; zero after an answer
}

// NewPatience returns one for a connection to a cluster.
func NewPatience(conn *nats.Conn, logger *slog.Logger) *Patience {
	return &Patience{conn: conn, limit: serverPatience, logger: logger}
}

// Asked notes that a question was answered, or not.
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
		_ = p.conn.ForceReconnect() // it fails where the connection is closed
	}
	p.server = server
}

// IsLeaderless says so of a stream with replicas. A server that is cut off from the others still
// describes the stream, as it knew it.
func IsLeaderless(info *jetstream.StreamInfo) bool {
	return info.Config.Replicas > 1 && info.Cluster != nil && info.Cluster.Leader == ""
}
