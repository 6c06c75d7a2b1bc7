package eventlog

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/payfold/payfold/internal/eventlog/blockstore"
)

const (
	probeSubject = "payfold.probe"
	probeTimeout = 10 * time.Second
)

// probe finds out, in a stream of its own, whether the server keeps its messages
// where flush syncs them, and has written them when it acknowledges them.
//
// The stream stays until the next start: where the server deletes one it removes
// folders behind its answer, and another stream may be about to use them.
func (s *Server) probe() error {
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
	if _, err := js.CreateStream(ctx, jetstream.StreamConfig{
		Name: blockstore.ProbeStream, Subjects: []string{probeSubject}, Storage: jetstream.FileStorage,
	}); err != nil {
		return fmt.Errorf("create the probe: %w", err)
	}
	store := s.store.Of(blockstore.ProbeStream)
	for range 2 {
		body := []byte(randomToken())
		if _, err := js.Publish(ctx, probeSubject, body); err != nil {
			return fmt.Errorf("publish to the probe: %w", err)
		}
		if err := store.Holds(body); err != nil {
			return err
		}
	}
	return nil
}
