package eventlog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	probeStream  = "PAYFOLD_PROBE"
	probeSubject = "payfold.probe"
	probeTimeout = 10 * time.Second
)

// probe finds out, in a stream of its own, whether the server keeps its messages
// where flush syncs them, and has written them when it acknowledges them.
func (s *Server) probe() (err error) {
	conn, err := nats.Connect(s.nats.ClientURL(), nats.InProcessServer(s.nats), nats.Token(s.secret))
	if err != nil {
		return fmt.Errorf("connect for the probe: %w", err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		return fmt.Errorf("use JetStream for the probe: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	// A process that was killed may have left one.
	if err := js.DeleteStream(ctx, probeStream); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("delete an old probe: %w", err)
	}
	if _, err := js.CreateStream(ctx, jetstream.StreamConfig{
		Name: probeStream, Subjects: []string{probeSubject}, Storage: jetstream.FileStorage,
	}); err != nil {
		return fmt.Errorf("create the probe: %w", err)
	}
	defer func() { err = errors.Join(err, js.DeleteStream(ctx, probeStream)) }()
	store := newStore(s.store.root, writerAccount, probeStream)
	for range 2 {
		body := []byte(randomToken())
		if _, err := js.Publish(ctx, probeSubject, body); err != nil {
			return fmt.Errorf("publish to the probe: %w", err)
		}
		if err := store.holds(body); err != nil {
			return err
		}
	}
	return nil
}
