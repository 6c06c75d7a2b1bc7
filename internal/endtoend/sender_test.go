//go:build linux

package endtoend

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv/specification"
)

// prepared returns deliveries as bytes, so that sending them costs little: the measured program has
// the same cores.
func prepared(count int) [][]byte {
	signer := specification.NewSecret(secret)
	out := make([][]byte, count)
	for i := range out {
		body := realSized(i)
		out[i] = fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: payfold\r\nContent-Type: application/json\r\n%s: %s\r\nContent-Length: %d\r\n\r\n%s",
			specification.Path, specification.SignatureHeader, specification.Sign(signer, []byte(body)), len(body), body)
	}
	return out
}

// sender sends deliveries over many connections from one thread. Each delivery costs one
// write, one read and a share of one wait.
type sender struct {
	deliveries [][]byte
	next       int
	poll       int
	sent       map[int32]time.Time // by connection
	latencies  []time.Duration
}

// sendAll sends every delivery once. It returns the sorted latencies, and the time for all
// deliveries.
func sendAll(t testing.TB, address string, deliveries [][]byte, connections int) (latencies []time.Duration, all time.Duration) {
	t.Helper()
	poll, err := syscall.EpollCreate1(0)
	require.NoError(t, err)
	defer syscall.Close(poll)
	s := &sender{deliveries: deliveries, poll: poll, sent: map[int32]time.Time{}}
	began := time.Now()
	for range min(connections, len(deliveries)) {
		socket, err := connectTo(address)
		require.NoError(t, err)
		defer syscall.Close(socket)
		event := syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(socket)}
		require.NoError(t, syscall.EpollCtl(poll, syscall.EPOLL_CTL_ADD, socket, &event))
		require.NoError(t, s.send(int32(socket)))
	}
	require.NoError(t, s.run())
	all = time.Since(began)
	slices.Sort(s.latencies)
	return s.latencies, all
}

func connectTo(address string) (int, error) {
	to, err := net.ResolveTCPAddr("tcp4", address)
	if err != nil {
		return 0, err
	}
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		return 0, err
	}
	if err := syscall.SetsockoptInt(socket, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1); err != nil {
		return 0, err
	}
	return socket, syscall.Connect(socket, &syscall.SockaddrInet4{Port: to.Port, Addr: [4]byte(to.IP.To4())})
}

// send writes the next delivery, if any. The socket's buffer has room for all of it.
func (s *sender) send(socket int32) error {
	if s.next == len(s.deliveries) {
		return nil
	}
	delivery := s.deliveries[s.next]
	s.next++
	s.sent[socket] = time.Now()
	n, err := syscall.Write(int(socket), delivery)
	if err == nil && n < len(delivery) {
		err = errors.New("only a part of the delivery was sent")
	}
	return err
}

func (s *sender) run() error {
	var events [connections]syscall.EpollEvent
	answer := make([]byte, 4<<10)
	for len(s.latencies) < len(s.deliveries) {
		ready, err := syscall.EpollWait(s.poll, events[:], int((10 * time.Second).Milliseconds()))
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || ready == 0 {
			return fmt.Errorf("no answer after %d: %w", len(s.latencies), err)
		}
		for _, event := range events[:ready] {
			// An answer has a few hundred bytes, so one read returns all of it.
			n, err := syscall.Read(int(event.Fd), answer)
			if err != nil {
				return err
			}
			if !bytes.HasPrefix(answer[:n], []byte("HTTP/1.1 200 ")) || !bytes.HasSuffix(answer[:n], []byte("}\n")) {
				return fmt.Errorf("answered %q", answer[:n])
			}
			s.latencies = append(s.latencies, time.Since(s.sent[event.Fd]))
			if err := s.send(event.Fd); err != nil {
				return err
			}
		}
	}
	return nil
}
