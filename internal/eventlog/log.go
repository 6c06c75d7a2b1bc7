package eventlog

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/singleflight"

	"github.com/payfold/payfold/internal/eventlog/access"
	"github.com/payfold/payfold/internal/eventlog/blockstore"
)

// Log is a connection to the stream. It survives restarts of the server: calls fail while
// the server is unavailable, and work again after it has returned. Safe for concurrent use.
type Log struct {
	conn      *nats.Conn
	js        jetstream.JetStream
	name      string
	committer *committer

	// confirm waits until a message that was delivered to a reader is durable. It is nil if
	// the server delivers only durable messages.
	confirm func(ctx context.Context, seq uint64) (durable uint64, err error)

	// answers is the connection that answers readers. It is nil in a process that does not
	// run the embedded server.
	answers *nats.Conn

	// files are the files of the embedded server of another process on this machine; nil
	// if there is no such server.
	files *blockstore.Store

	// disconnected returns ErrDisconnected with advice on what to check.
	disconnected func() error

	// onStream is called once the stream exists, before anything is confirmed. It is nil in
	// a process that does not run the embedded server.
	onStream func() error

	// health returns why the server stores nothing any more. It is nil if the server is not
	// embedded in this process.
	health func() error

	state         atomic.Pointer[streamState] // of the stream; nil while unknown
	stateRequests singleflight.Group          // for it
}

// Config says where the log is.
type Config struct {
	URL         string // empty for the embedded server of another process, found through DataDir
	Credentials string // a file; optional
	DataDir     string
	Stream      string
	Logger      *slog.Logger
}

// dialTimeout bounds one attempt to connect.
const dialTimeout = 2 * time.Second

// reconnectWait is the time between two attempts to reconnect. With it, recovery takes
// well under two seconds.
const reconnectWait = 250 * time.Millisecond

// Connect returns at once, also if the server cannot be reached yet.
func Connect(config Config) (*Log, error) {
	options := []nats.Option{nats.RetryOnFailedConnect(true)}
	url, embedded := config.URL, access.NewDialer(config.DataDir, dialTimeout)
	if config.Credentials != "" {
		options = append(options, nats.UserCredentials(config.Credentials))
	}
	if url != "" {
		options = append(options, nats.SetCustomDialer(idleDialer{&net.Dialer{Timeout: dialTimeout}}))
	} else {
		url = "nats://embedded.invalid" // the dialer ignores it
		options = append(options,
			nats.SkipHostLookup(),
			nats.SetCustomDialer(idleDialer{embedded}),
			nats.TokenHandler(func() string { return access.Token(config.DataDir) }))
	}
	// A cluster acknowledges and delivers only messages that its quorum has.
	flush := func(uint64) error { return nil }
	l, err := connect(url, config.Stream, flush, config.Logger, options...)
	switch {
	case err != nil:
		return nil, err
	case config.URL == "":
		l.disconnected = func() error { return fmt.Errorf("%w: %w", ErrDisconnected, embedded.Advice()) }
		l.confirm = l.ask
		l.files = blockstore.New(logFolder(config.DataDir), writerAccount, config.Stream)
	default: // the message leaves out the URL, which may contain a password
		l.disconnected = func() error {
			return fmt.Errorf("%w: is the server of NATS_URL running, and does it accept these credentials?", ErrDisconnected)
		}
	}
	return l, nil
}

func connect(url, stream string, flush func(seq uint64) error, logger *slog.Logger, options ...nats.Option) (*Log, error) {
	pipeline := newPipeline(flush)
	options = append(options,
		nats.Name("payfold"),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(reconnectWait),
		nats.ReconnectJitter(reconnectWait/4, reconnectWait/4),
		nats.IgnoreAuthErrorAbort(), // the token may be replaced while this process is disconnected
		nats.ReconnectBufSize(-1),   // while disconnected, a publish fails at once instead of being buffered
		nats.PingInterval(pingInterval),
		nats.MaxPingsOutstanding(maxPingsOutstanding),
		nats.Timeout(dialTimeout),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			pipeline.lost()
			if err != nil {
				logger.Warn("the connection to the log is lost", "error", err)
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { logger.Info("connected to the log again") }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			logger.Warn("the log's server reports an error", "error", err)
		}),
	)
	conn, err := nats.Connect(url, options...)
	if err != nil {
		return nil, fmt.Errorf("connect to the log: %w", err)
	}
	js, err := jetstream.New(conn)
	if err == nil {
		err = pipeline.listen(conn)
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("use JetStream: %w", err)
	}
	return &Log{conn: conn, js: js, name: stream, disconnected: func() error { return ErrDisconnected }, committer: newCommitter(pipeline)}, nil
}

// connected waits for the connection. On a busy machine the first attempt can time out.
func (l *Log) connected(ctx context.Context) error {
	made := l.conn.StatusChanged(nats.CONNECTED)
	defer l.conn.RemoveStatusListener(made)
	if l.conn.IsConnected() {
		return nil
	}
	select {
	case <-made:
		return nil
	case <-ctx.Done():
		return l.disconnected()
	}
}

// Close ends the connection; calls in progress fail.
func (l *Log) Close() {
	l.committer.close()
	l.conn.Close()
	if l.answers != nil {
		l.answers.Close()
	}
}
