package eventlog

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/singleflight"

	"github.com/payfold/payfold/internal/eventlog/blockstore"
)

// Log is a connection to the stream. It outlives the server's restarts: calls
// fail while the server is away and work again when it is back. Safe for
// concurrent use.
type Log struct {
	conn      *nats.Conn
	js        jetstream.JetStream
	name      string
	committer *committer

	// confirm waits until what a reader was shown is durable; nil where the
	// server shows nothing before that.
	confirm func(ctx context.Context, seq uint64) (durable uint64, err error)

	// answers is the connection that answers readers; nil but in the process that writes.
	answers *nats.Conn

	// files is where the server of this machine keeps its messages; nil where
	// there is none, and in its own process.
	files *blockstore.Store

	// away is ErrDisconnected, with what to look at.
	away func() error

	// made is called when the stream is there, before anything is confirmed; nil but in
	// the process of an embedded log.
	made func() error

	// health says why the server stores nothing any more; nil where it cannot be asked.
	health func() error

	standing atomic.Pointer[standing] // of the stream; nil while unknown
	asking   singleflight.Group       // for it
}

// Config says where the log is.
type Config struct {
	URL         string // empty: the embedded server of another process, found through DataDir
	Credentials string // a file, optional
	DataDir     string
	Stream      string
	Logger      *slog.Logger
}

// dialTimeout bounds one attempt to connect.
const dialTimeout = 2 * time.Second

// reconnectWait keeps recovery well under two seconds without a busy loop.
const reconnectWait = 250 * time.Millisecond

// Connect returns at once, also when the server is away or not there yet.
func Connect(config Config) (*Log, error) {
	options := []nats.Option{nats.RetryOnFailedConnect(true)}
	url, embedded := config.URL, newDialer(config.DataDir)
	if config.Credentials != "" {
		options = append(options, nats.UserCredentials(config.Credentials))
	}
	if url != "" {
		options = append(options, nats.SetCustomDialer(listeningDialer{&net.Dialer{Timeout: dialTimeout}}))
	} else {
		url = "nats://embedded.invalid" // the dialer knows better
		options = append(options,
			nats.SkipHostLookup(),
			nats.SetCustomDialer(listeningDialer{embedded}),
			nats.TokenHandler(func() string { return readTrimmed(tokenFile(config.DataDir)) }))
	}
	// A cluster acknowledges, and shows, what its quorum has.
	flush := func(uint64) error { return nil }
	l, err := connect(url, config.Stream, flush, config.Logger, options...)
	switch {
	case err != nil:
		return nil, err
	case config.URL == "":
		l.away = embedded.away
		l.confirm = l.ask
		l.files = blockstore.New(logFolder(config.DataDir), writerAccount, config.Stream)
	default: // which may hold a password
		l.away = func() error {
			return fmt.Errorf("%w: does the server of NATS_URL run, and take these credentials?", ErrDisconnected)
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
		nats.IgnoreAuthErrorAbort(), // a token may be made anew while we are away
		nats.ReconnectBufSize(-1),   // a publish while disconnected fails instead of waiting unseen
		nats.PingInterval(pingInterval),
		nats.MaxPingsOutstanding(maxPingsOutstanding),
		nats.Timeout(dialTimeout),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			pipeline.lost()
			if err != nil {
				logger.Warn("the log is away", "error", err)
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { logger.Info("the log is back") }),
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
	return &Log{conn: conn, js: js, name: stream, away: func() error { return ErrDisconnected }, committer: newCommitter(pipeline)}, nil
}

// connected waits until there is a connection: on a busy machine the first attempt
// may take too long.
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
		return l.away()
	}
}

// Close ends the connection; calls under way fail.
func (l *Log) Close() {
	l.committer.close()
	l.conn.Close()
	if l.answers != nil {
		l.answers.Close()
	}
}

func readTrimmed(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
