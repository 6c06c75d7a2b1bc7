package appends

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

// Direct publishes messages to the embedded server over a connection inside the process. It
// speaks the part of the NATS protocol that this needs, because nats.go costs several times
// as much; docs/decisions/0019-cost-of-a-delivery.md says where. When the connection is lost,
// Direct connects again.
//
//	publish ──queue──▶ write ──▶ server ──▶ read ──▶ entry.answer
type Direct struct {
	dial   func() (net.Conn, error)
	token  string
	logger *slog.Logger
	wake   chan struct{} // holds one token while the queue has entries
	stop   chan struct{}
	ended  chan struct{}
	once   sync.Once

	connections atomic.Uint64 // that were made so far

	mu      sync.Mutex
	conn    *directConn // nil while there is no connection
	queue   []*entry    // to be written
	pending []*entry    // by number: the entries without an answer
	free    []uint64    // numbers that may be used again
}

// InsideTimeout bounds an attempt to connect to the server in this process. The first attempt is
// not repeated, and on an overloaded machine the server may take some seconds to answer.
const InsideTimeout = 30 * time.Second

// ReconnectWait is the time between two attempts to reconnect. With it, recovery takes
// well under two seconds.
const ReconnectWait = 250 * time.Millisecond

// ErrDisconnected means that there is no connection to the log's server, or that it was lost before
// the answer.
var ErrDisconnected = errors.New("not connected to the log")

// abandoned stands in pending for an entry whose append has given up. Its number must not be
// used again before its answer has come.
var abandoned = new(entry)

// writeBytes ends a write. Otherwise a write takes all messages that wait. The server reads as many
// bytes at once.
const writeBytes = 64 << 10

// NewDirect connects. The caller must close the result.
func NewDirect(dial func() (net.Conn, error), token string, logger *slog.Logger) (*Direct, error) {
	d := &Direct{
		dial: dial, token: token, logger: logger,
		wake: make(chan struct{}, 1), stop: make(chan struct{}), ended: make(chan struct{}),
	}
	c, err := d.connect()
	if err != nil {
		return nil, fmt.Errorf("connect to the log: %w", err)
	}
	go d.run(c)
	return d, nil
}

// Close ends the connection; entries without an answer fail.
func (d *Direct) Close() {
	d.once.Do(func() { close(d.stop) })
	d.mu.Lock()
	if d.conn != nil {
		_ = d.conn.Close()
	}
	d.mu.Unlock()
	<-d.ended
}

// Connections counts the connections so far.
func (d *Direct) Connections() uint64 { return d.connections.Load() }

func (d *Direct) publish(e *entry) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.conn == nil {
		return ErrDisconnected
	}
	if size := headerSize(e.message) + len(e.message.Body); size > d.conn.max { // the server would end the connection
		return fmt.Errorf("%w: %d bytes, at most %d", nats.ErrMaxPayload, size, d.conn.max)
	}
	if last := len(d.free) - 1; last >= 0 {
		e.number, d.free = d.free[last], d.free[:last]
		d.pending[e.number] = e
	} else {
		e.number = uint64(len(d.pending))
		d.pending = append(d.pending, e)
	}
	d.queue = append(d.queue, e)
	select {
	case d.wake <- struct{}{}:
	default:
	}
	return nil
}

func (d *Direct) forget(e *entry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if e.number >= uint64(len(d.pending)) || d.pending[e.number] != e {
		return
	}
	// If the server reads nothing any more, the queue must not keep more and more bodies. An entry
	// that is still in the queue gets no answer, so its number is free.
	if at := slices.Index(d.queue, e); at >= 0 {
		d.queue = slices.Delete(d.queue, at, at+1)
		d.pending[e.number] = nil
		d.free = append(d.free, e.number)
		return
	}
	d.pending[e.number] = abandoned
}

// take returns the entry with this number, if it still waits for its answer. The server answers
// each message once, and no other process can publish in this account.
func (d *Direct) take(number uint64) *entry {
	d.mu.Lock()
	defer d.mu.Unlock()
	if number >= uint64(len(d.pending)) || d.pending[number] == nil {
		return nil
	}
	e := d.pending[number]
	d.pending[number] = nil
	d.free = append(d.free, number)
	if e == abandoned {
		return nil
	}
	return e
}

// run serves one connection after the other.
func (d *Direct) run(c *directConn) {
	defer close(d.ended)
	for {
		err := d.serve(c)
		d.lost()
		select {
		case <-d.stop:
			return
		default:
			d.logger.Warn("the connection to the log is lost", "error", err)
		}
		for c, err = d.connect(); err != nil; c, err = d.connect() {
			select {
			case <-d.stop:
				return
			case <-time.After(ReconnectWait):
			}
		}
		d.logger.Info("connected to the log again")
	}
}

// lost fails every entry without an answer. The next connection has another inbox, so an
// answer that comes late reaches nobody.
func (d *Direct) lost() {
	d.mu.Lock()
	pending := d.pending
	d.conn, d.queue, d.pending, d.free = nil, nil, nil, nil
	d.mu.Unlock()
	for _, e := range pending {
		if e != nil && e != abandoned {
			e.answer(0, false, ErrDisconnected)
		}
	}
}

// serve writes and reads until the connection fails or is closed.
func (d *Direct) serve(c *directConn) error {
	wrote, stop := make(chan error, 1), make(chan struct{})
	go func() {
		err := d.write(c, stop)
		_ = c.Close()
		wrote <- err
	}()
	err := c.read(func(number uint64, status string, answer []byte) {
		if e := d.take(number); e != nil {
			e.answer(readAnswer(status, answer))
		}
	})
	close(stop)
	_ = c.Close()
	return errors.Join(err, <-wrote)
}

func (d *Direct) write(c *directConn, stop <-chan struct{}) error {
	var batch []*entry
	buffer := make([]byte, 0, 2*writeBytes)
	for {
		select {
		case <-d.wake:
		case <-stop:
			return nil
		}
		d.mu.Lock()
		batch, d.queue = d.queue, batch[:0]
		d.mu.Unlock()
		for i, e := range batch {
			batch[i] = nil
			buffer = c.append(buffer, e.message, e.number)
			if len(buffer) < writeBytes && i+1 < len(batch) {
				continue
			}
			if _, err := c.Write(buffer); err != nil {
				return err
			}
			if buffer = buffer[:0]; cap(buffer) > 4*writeBytes { // after a large body
				buffer = make([]byte, 0, 2*writeBytes)
			}
		}
	}
}

// connect opens a connection that receives answers.
func (d *Direct) connect() (*directConn, error) {
	conn, err := d.dial()
	if err != nil {
		return nil, err
	}
	c, err := greet(conn, d.token)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	select {
	case <-d.stop:
		_ = conn.Close()
		return nil, errClosed
	default:
	}
	d.conn = c
	d.connections.Add(1)
	return c, nil
}
