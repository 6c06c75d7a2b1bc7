package eventlog

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/payfold/payfold/internal/archive/storage"
	"github.com/payfold/payfold/internal/eventlog/access"
	"github.com/payfold/payfold/internal/eventlog/accounts"
	"github.com/payfold/payfold/internal/eventlog/blockstore"
	"github.com/payfold/payfold/internal/eventlog/connection"
)

// Config says where the log is.
type Config struct {
	URL         string // empty for the embedded server of another process, found through DataDir
	Credentials string // a file; optional
	InboxPrefix string // of the subjects of answers; empty: see connection.Inbox
	DataDir     string
	Stream      string
	Archive     storage.Place // of this log, for readers; nil if there is none
	Whole       bool          // a stream that can be trimmed counts as unsafe
	Logger      *slog.Logger
}

// limits say how long one server may take before it counts as gone.
type limits struct {
	handshake time.Duration
	silence   time.Duration // between two bytes; the server answers a ping each second
	request   time.Duration // until the answer
}

var (
	// ofCluster has short limits, because another server can take over.
	ofCluster = limits{handshake: 2 * time.Second, silence: 3 * time.Second, request: 5 * time.Second}

	// ofEmbedded has long limits. There is no other server, and a slow server on a busy machine must not count as gone.
	// When its process ends, the connection ends at once. The handshake is short, because every call waits for it.
	// While ingest is frozen, the end of the program and the answer of readyz wait for it, too.
	ofEmbedded = limits{handshake: 5 * time.Second, silence: 20 * time.Second, request: 20 * time.Second}
)

// embeddedURL has no address, because nats.go does not use it to reach the embedded server.
const embeddedURL = "nats://embedded.invalid"

// Connect returns at once, also if the server cannot be reached yet.
func Connect(config Config) (*Log, error) {
	wait := ofCluster
	if config.URL == "" {
		wait = ofEmbedded
	}
	options := []nats.Option{nats.RetryOnFailedConnect(true), nats.Timeout(wait.handshake)}
	if config.Credentials != "" {
		options = append(options, nats.UserCredentials(config.Credentials))
	}
	url := config.URL
	var dialer *connection.Dialer
	var embedded *access.Dialer
	if url != "" {
		dialer = connection.NewDialer(&connection.ByName{Timeout: wait.handshake}, wait.silence)
		options = append(options, connection.Inbox(config.InboxPrefix, url))
	} else {
		embedded = access.NewDialer(config.DataDir, wait.handshake)
		url, dialer = embeddedURL, connection.NewDialer(embedded, wait.silence)
		options = append(options, nats.TokenHandler(func() string { return access.Token(config.DataDir) }))
	}
	l, err := connect(url, config.Stream, wait.request, config.Logger, append(options, dialer.Use)...)
	if err != nil {
		return nil, err
	}
	l.dialer, l.access = dialer, embedded
	l.committer = newCommitter(l.js, nil)
	l.archive, l.whole = newArchived(config.Archive, config.Logger), config.Whole
	if embedded != nil {
		l.files = blockstore.New(logFolder(config.DataDir), accounts.Writer, config.Stream)
	} else {
		l.patience = connection.NewPatience(l.conn, config.Logger)
	}
	return l, nil
}

// connect returns a Log without a committer. request bounds each question that has no other limit, and how long a
// message is kept whose answer does not come.
func connect(url, stream string, request time.Duration, logger *slog.Logger, options ...nats.Option) (*Log, error) {
	conn, err := connection.Open(url, logger, options...)
	if err != nil {
		return nil, err
	}
	js, err := jetstream.New(conn, jetstream.WithDefaultTimeout(request), jetstream.WithPublishAsyncTimeout(request))
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("use JetStream: %w", err)
	}
	return &Log{conn: conn, js: js, name: stream, request: request}, nil
}
