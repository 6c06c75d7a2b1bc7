package eventlog

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

// direct publishes messages to the embedded server over a connection inside the process. It
// speaks the part of the NATS protocol that this needs, because nats.go costs several times
// as much; docs/decisions/0019-cost-of-a-delivery.md says where. When the connection is lost,
// direct connects again.
//
//	publish ──queue──▶ write ──▶ server ──▶ read ──▶ entry.answer
type direct struct {
	dial   func() (net.Conn, error)
	token  string
	sync   func(seq uint64) error
	logger *slog.Logger
	wake   chan struct{} // holds one token while the queue has entries
	stop   chan struct{}
	ended  chan struct{}
	once   sync.Once

	connections atomic.Uint64 // number of the current connection

	mu      sync.Mutex
	conn    *directConn // nil while there is no connection
	queue   []*entry    // to be written
	pending []*entry    // by number: those without an answer
	free    []uint64    // numbers that may be used again
}

// abandoned stands in pending for an entry whose append has given up. Its number must not be
// used again before its answer has come.
var abandoned = new(entry)

// writeBytes ends a write, which takes all messages that wait otherwise. The server reads as
// much at once.
const writeBytes = 64 << 10

// newDirect connects. The caller must close the result.
func newDirect(dial func() (net.Conn, error), token string, flush func(seq uint64) error, logger *slog.Logger) (*direct, error) {
	d := &direct{
		dial: dial, token: token, sync: flush, logger: logger,
		wake: make(chan struct{}, 1), stop: make(chan struct{}), ended: make(chan struct{}),
	}
	c, err := d.connect()
	if err != nil {
		return nil, fmt.Errorf("connect to the log: %w", err)
	}
	go d.run(c)
	return d, nil
}

func (d *direct) close() {
	d.once.Do(func() { close(d.stop) })
	d.mu.Lock()
	if d.conn != nil {
		_ = d.conn.Close()
	}
	d.mu.Unlock()
	<-d.ended
}

func (d *direct) flush(seq uint64) error { return d.sync(seq) }

func (d *direct) publish(e *entry) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.conn == nil {
		return ErrDisconnected
	}
	if size := e.message.headerSize() + len(e.message.body); size > d.conn.max { // the server would end the connection
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

func (d *direct) forget(e *entry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if e.number < uint64(len(d.pending)) && d.pending[e.number] == e {
		d.pending[e.number] = abandoned
	}
}

// take returns the entry with that number, if it still waits for its answer. The server
// answers each message once, and nobody else can publish in its account.
func (d *direct) take(number uint64) *entry {
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
func (d *direct) run(c *directConn) {
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
			case <-time.After(reconnectWait):
			}
		}
		d.logger.Info("connected to the log again")
	}
}

// lost fails every entry without an answer. The next connection has another inbox, so an
// answer that comes late reaches nobody.
func (d *direct) lost() {
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
func (d *direct) serve(c *directConn) error {
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

func (d *direct) write(c *directConn, stop <-chan struct{}) error {
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
func (d *direct) connect() (*directConn, error) {
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
