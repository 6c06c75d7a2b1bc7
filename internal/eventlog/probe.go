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

// probe makes a stream for blockstore's Probe. The stream stays until the next start. The server
// removes the folders of a deleted stream only after its answer, when another stream may already
// use them.
func (s *Server) probe() error {
	conn, err := nats.Connect(embeddedURL, s.inside(s.writerToken)...)
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
	return s.store.Probe(func(body []byte) error {
		_, err := js.Publish(ctx, probeSubject, body)
		return err
	})
}
