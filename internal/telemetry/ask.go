package telemetry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// askTimeout is longer than an Admin takes to find out whether its program is ready.
const askTimeout = 3 * time.Second

// maxAnswer bounds what is read of an answer.
const maxAnswer = 1 << 20

// ErrUnanswered means that no program listens at the address.
var ErrUnanswered = errors.New("nothing answers")

// Ask asks the Admin of a program on this machine. addr is the address on which it listens; see
// reachable. If the answer is not 200, it is the error.
func Ask(ctx context.Context, addr, path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	answer, err := send(ctx, http.MethodGet, addr, path)
	if err != nil {
		return nil, err
	}
	defer answer.Close()
	body, err := io.ReadAll(io.LimitReader(answer, maxAnswer))
	if err != nil {
		return nil, unanswered(ctx, addr, err)
	}
	return body, nil
}

// Post is Ask for work that takes long: it posts nothing to path, and returns the answer while it is written. The caller
// closes it.
func Post(ctx context.Context, addr, path string) (io.ReadCloser, error) {
	return send(ctx, http.MethodPost, addr, path)
}

func send(ctx context.Context, method, addr, path string) (io.ReadCloser, error) {
	target, err := reachable(addr)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://admin.invalid"+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{ // without the proxies of the environment
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, target) // whose port may be the name of a service
		},
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return nil, unanswered(ctx, target, err)
	}
	if response.StatusCode != http.StatusOK {
		defer response.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
		return nil, errors.New(strings.TrimSpace(string(text)))
	}
	return response.Body, nil
}

func unanswered(ctx context.Context, target string, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("not within %s", askTimeout)
	}
	return fmt.Errorf("%w at ADMIN_ADDR %s: %w", ErrUnanswered, target, err)
}

// reachable returns the address at which a program of this machine that listens on addr can be reached. A program that
// listens on all interfaces, also on those of IPv6, listens on the loopback interface of IPv4. A container may have none
// of IPv6.
func reachable(addr string) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", fmt.Errorf("ADMIN_ADDR: %q is not host:port", addr)
	}
	if host == "" || net.ParseIP(host).IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), nil
}
