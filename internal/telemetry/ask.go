package telemetry

import (
	"cmp"
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

// RefusedError: the program answered, and its answer is no.
type RefusedError struct {
	Status int
	Reason string
}

func (e *RefusedError) Error() string { return e.Reason }

// Ask asks the Admin of a program on this machine. addr is the address on which it listens: an
// address without a host, or with one that means all interfaces, stands for the loopback
// interface. The error is a RefusedError where the answer is not 200.
func Ask(ctx context.Context, addr, path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	targets, err := reachable(addr)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{ // without the proxies of the environment
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dial(ctx, targets)
		},
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://admin.invalid"+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return nil, unanswered(ctx, targets[0], err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return nil, unanswered(ctx, targets[0], err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, &RefusedError{response.StatusCode, strings.TrimSpace(string(body))}
	}
	return body, nil
}

func unanswered(ctx context.Context, target string, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("not within %s", askTimeout)
	}
	return fmt.Errorf("nothing answers at ADMIN_ADDR %s: %w", target, err)
}

// dial connects to the first of the addresses at which somebody listens.
func dial(ctx context.Context, targets []string) (conn net.Conn, err error) {
	for _, target := range targets {
		var failed error
		if conn, failed = new(net.Dialer).DialContext(ctx, "tcp", target); failed == nil {
			return conn, nil
		}
		err = cmp.Or(err, failed)
	}
	return nil, err
}

// reachable returns where a program of this machine that listens on addr can be reached. One that
// listens on all addresses of IPv6 listens on those of IPv4, too, and a container may have no
// loopback address of IPv6.
func reachable(addr string) ([]string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("ADMIN_ADDR: %q is not host:port", addr)
	}
	v4, v6 := net.JoinHostPort("127.0.0.1", port), net.JoinHostPort("::1", port)
	switch ip := net.ParseIP(host); {
	case host == "":
		return []string{v4, v6}, nil
	case ip != nil && ip.To4() != nil && ip.IsUnspecified():
		return []string{v4}, nil
	case ip != nil && ip.IsUnspecified():
		return []string{v6, v4}, nil
	}
	return []string{addr}, nil
}
