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
)

// Log is a connection to the stream. It outlives the server's restarts: calls
// fail while the server is away and work again when it is back. Safe for
// concurrent use.
type Log struct {
	conn *nats.Conn
	js   jetstream.JetStream
	name string

	// flush makes everything the server has answered for durable; nil where the
	// cluster's acknowledgement already says so.
	flush func() error

	partitions atomic.Int64 // of the stream, 0 while unknown
}

// Config says where the log is.
type Config struct {
	URL         string // empty: the embedded server of another process, found through DataDir
	Credentials string // a file, optional
	DataDir     string
	Stream      string
	Logger      *slog.Logger
}

// reconnectWait keeps recovery well under two seconds without a busy loop.
const reconnectWait = 250 * time.Millisecond

// pingInterval: a connection that went silent is given up after three of these.
const pingInterval = time.Second

// Connect returns at once, also when the server is away or not there yet.
func Connect(config Config) (*Log, error) {
	options := []nats.Option{nats.Name("payfold"), nats.RetryOnFailedConnect(true)}
	url := config.URL
	if config.Credentials != "" {
		options = append(options, nats.UserCredentials(config.Credentials))
	}
	if url == "" {
		url = "nats://embedded.invalid" // never resolved: the dialer reads the address anew
		options = append(options,
			nats.SetCustomDialer(embeddedDialer(config.DataDir)),
			nats.TokenHandler(func() string { return readTrimmed(tokenFile(config.DataDir)) }))
	}
	return connect(url, config.Stream, nil, config.Logger, options...)
}

func connect(url, stream string, flush func() error, logger *slog.Logger, options ...nats.Option) (*Log, error) {
	options = append(options,
		nats.MaxReconnects(-1),
		nats.ReconnectWait(reconnectWait),
		nats.ReconnectJitter(reconnectWait/4, reconnectWait/4),
		nats.IgnoreAuthErrorAbort(), // a token may be made anew while we are away
		nats.ReconnectBufSize(-1),   // a publish while disconnected fails instead of waiting unseen
		nats.PingInterval(pingInterval),
		nats.MaxPingsOutstanding(2),
		nats.Timeout(2*time.Second),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
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
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("use JetStream: %w", err)
	}
	return &Log{conn: conn, js: js, name: stream, flush: flush}, nil
}

// Close ends the connection; calls under way fail.
func (l *Log) Close() { l.conn.Close() }

// Ready says whether the stream is there and its leader answers.
func (l *Log) Ready(ctx context.Context) error {
	info, err := l.Info(ctx)
	if err == nil {
		l.partitions.Store(int64(info.Partitions))
	}
	return err
}

// dialer connects to wherever the embedded server says it listens now.
type dialer func() (net.Conn, error)

func (d dialer) Dial(string, string) (net.Conn, error) { return d() }

// SkipTLSHandshake: the address is on this machine.
func (d dialer) SkipTLSHandshake() bool { return true }

func embeddedDialer(dataDir string) dialer {
	return func() (net.Conn, error) {
		address := readTrimmed(addressFile(dataDir))
		if address == "" {
			return nil, fmt.Errorf("no embedded log yet: %s is missing", addressFile(dataDir))
		}
		return net.DialTimeout("tcp", address, 2*time.Second)
	}
}

func readTrimmed(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
