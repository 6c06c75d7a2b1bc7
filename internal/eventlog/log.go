package eventlog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/singleflight"

	"github.com/payfold/payfold/internal/eventlog/access"
	"github.com/payfold/payfold/internal/eventlog/blockstore"
	"github.com/payfold/payfold/internal/eventlog/connection"
)

// ErrDisconnected means that there is no connection to the log, or that the server no longer knows
// the reader. The server may have been restored, or its stream may have been created again. So the
// error ends a Read: the caller must first check that the server still has the same log.
var ErrDisconnected = errors.New("not connected to the log")

// Log is a connection to the stream. It survives restarts of the server: calls fail while the
// server is unavailable, and work again after it has returned. It is safe for concurrent use.
type Log struct {
	conn      *nats.Conn
	js        jetstream.JetStream
	name      string
	request   time.Duration // how long the server may take to answer a question
	committer *committer

	// server is the embedded server of this process; nil if this process does not run one.
	server *Server

	// files are the files of the embedded server; nil if the log is a cluster.
	files *blockstore.Store

	// archive is the archive for readers; nil if there is none.
	archive *archived

	dialer *connection.Dialer // reaches the server; nil if the server is in this process
	access *access.Dialer     // reaches the embedded server of another process, through dialer; otherwise nil

	patience *connection.Patience // with a server of a cluster; nil if the server is embedded

	restoring bool // by this process
	whole     bool // nothing may be removed from the stream

	state         atomic.Pointer[streamState] // of the stream; nil while unknown
	stateRequests singleflight.Group          // requests of the state
}

// Close ends the connection; calls in progress fail.
func (l *Log) Close() {
	l.committer.close()
	if l.server != nil {
		l.server.answers.Close()
	}
	l.conn.Close()
}

// awaitConnection waits until there is a connection, or ctx ends. On a busy machine the first attempt can time out.
func (l *Log) awaitConnection(ctx context.Context) error {
	made := l.conn.StatusChanged(nats.CONNECTED)
	defer l.conn.RemoveStatusListener(made)
	if l.conn.IsConnected() {
		return nil
	}
	select {
	case <-made:
		return nil
	case <-ctx.Done():
		return l.notConnected()
	}
}

// notConnected returns ErrDisconnected with advice on what to check.
func (l *Log) notConnected() error {
	// The message has the addresses and not the URL, which may contain a password.
	switch servers := strings.Join(l.conn.Servers(), ", "); {
	case l.dialer == nil:
		return ErrDisconnected
	case l.access != nil:
		return fmt.Errorf("%w: %w", ErrDisconnected, l.access.Advice(l.dialer.Last()))
	case errors.Is(l.conn.LastError(), nats.ErrAuthorization):
		return fmt.Errorf("%w: the server of NATS_URL at %s refuses these credentials", ErrDisconnected, servers)
	default:
		advice := "and does it accept these credentials?"
		if why := connection.CertificateFault(l.conn.LastError()); why != "" {
			advice += " " + why
		}
		return fmt.Errorf("%w: is the server of NATS_URL running at %s, %s", ErrDisconnected, servers, advice)
	}
}

// whileConnected returns a context that ends with ErrDisconnected when the connection is
// lost. stop releases its resources.
func (l *Log) whileConnected(ctx context.Context) (_ context.Context, stop func(), _ error) {
	lost := l.conn.StatusChanged(nats.RECONNECTING, nats.CLOSED)
	if !l.conn.IsConnected() {
		l.conn.RemoveStatusListener(lost)
		return nil, nil, l.notConnected()
	}
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-lost:
			cancel(ErrDisconnected)
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		cancel(nil)
		l.conn.RemoveStatusListener(lost)
	}, nil
}

// disconnected returns ErrDisconnected if a context from whileConnected ended because the
// connection was lost; otherwise nil.
func disconnected(ctx context.Context) error {
	if cause := context.Cause(ctx); errors.Is(cause, ErrDisconnected) {
		return cause
	}
	return nil
}

// whyEnded returns why a context from whileConnected has ended.
func whyEnded(ctx context.Context) error { return cmp.Or(disconnected(ctx), ctx.Err()) }

// whyFailed returns err, or ErrDisconnected if the connection was lost. A context from
// whileConnected ends only a moment after that.
func (l *Log) whyFailed(ctx context.Context, err error) error {
	if ctx.Err() == nil && !l.conn.IsConnected() {
		return fmt.Errorf("%w: %w", ErrDisconnected, err)
	}
	return cmp.Or(disconnected(ctx), err)
}
