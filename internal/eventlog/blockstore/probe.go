package blockstore

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
)

// ProbeStream is the name of a second stream of the server, which Probe fills. It is not part of
// the log.
const ProbeStream = "PAYFOLD_PROBE"

// Probe proves that the server keeps messages where Flush syncs them, and that it has
// written a message when it acknowledges it. publish stores a body in ProbeStream and
// returns when the server has acknowledged it.
func (s *Store) Probe(publish func(body []byte) error) error {
	probe := s.Of(ProbeStream)
	for range 2 {
		body := []byte(rand.Text())
		if err := publish(body); err != nil {
			return fmt.Errorf("publish to the probe: %w", err)
		}
		if err := probe.endsWith(body); err != nil {
			return err
		}
	}
	return nil
}

// endsWith returns an error if the newest block does not end with a message that has this body.
func (s *Store) endsWith(body []byte) error {
	blocks, err := s.blocks()
	if err != nil {
		return err
	}
	content, err := os.ReadFile(s.block(newestOf(blocks)))
	if err != nil {
		return err
	}
	if len(content) < checksumLength || !bytes.HasSuffix(content[:len(content)-checksumLength], body) {
		return fmt.Errorf("%s does not end with the newest message", s.block(newestOf(blocks)))
	}
	return nil
}
