// Package connection opens connections to the log's server. After a loss they reconnect, and try
// for ever. They notice a silent server.
package connection

import (
	"errors"
	"fmt"
	"log/slog"
	neturl "net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/payfold/payfold/internal/backoff"
)

// reconnectWait is the time between two attempts to reconnect. With it, recovery takes
// well under two seconds.
const reconnectWait = 250 * time.Millisecond

// Open opens a connection.
func Open(url string, logger *slog.Logger, options ...nats.Option) (*nats.Conn, error) {
	var fault backoff.Fault // nats.go calls one handler after the other
	options = append(options,
		nats.Name("payfold"),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(reconnectWait),
		nats.ReconnectJitter(reconnectWait/4, reconnectWait/4),
		nats.IgnoreAuthErrorAbort(), // the token may be replaced while this process is disconnected
		nats.ReconnectBufSize(-1),   // while disconnected, a publish fails at once instead of being buffered
		nats.PingInterval(pingInterval),
		nats.MaxPingsOutstanding(maxPingsOutstanding),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				logger.Warn("the connection to the log is lost", "error", err)
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) {
			fault.Clear()
			logger.Info("connected to the log again")
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			if fault.IsNew(err) { // a missing right causes the same error at every request
				logger.Warn("the log's server reports an error", "error", err)
			}
		}),
	)
	if err := CheckURLs(url); err != nil {
		return nil, err
	}
	conn, err := nats.Connect(url, options...)
	if errors.As(err, new(*neturl.Error)) {
		return nil, errNotURL // the error has the URL, and in it the password
	}
	if err != nil {
		return nil, fmt.Errorf("connect to the log: %w", err)
	}
	return conn, nil
}

// CheckURLs returns an error if nats.go cannot read one of these URLs, which have commas between them. The error does
// not contain them, because they may have a password.
func CheckURLs(urls string) error {
	for url := range strings.SplitSeq(urls, ",") {
		if url = strings.TrimSpace(url); !strings.Contains(url, "://") {
			url = "nats://" + url
		}
		_, rest, _ := strings.Cut(url, "://")
		// Of a password with a slash, a part would be taken for the server's address, and be shown in messages.
		if _, path, _ := strings.Cut(rest, "/"); strings.Contains(path, "@") {
			return errNotURL
		}
		if _, err := neturl.Parse(url); err != nil {
			return errNotURL
		}
	}
	return nil
}

var errNotURL = errors.New("NATS_URL cannot be read: it is nats://user:password@host:4222, or several with commas between them; a password with other characters than letters and digits needs %2F for / and the like")
