package eventlog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// progressInterval is between two lines about a long check.
const progressInterval = 5 * time.Second

// recover reads the whole log before a server opens it: that would truncate a block at
// its first bad record, without a word.
func (s *Server) recover(ctx context.Context) (err error) {
	logger, began, said := s.config.Logger, time.Now(), time.Now()
	s.found, err = s.store.Recover(ctx, func(done, blocks int) {
		if time.Since(said) > progressInterval {
			said = time.Now()
			logger.Info("reading the log before it is opened", "blocks_done", done, "blocks", blocks)
		}
	})
	if err != nil {
		return err
	}
	if tail := s.found.TornTail; tail != nil {
		logger.Warn("the end of the log was torn by a kill or a power cut; none of it was confirmed, and the provider delivers it again",
			"file", tail.File, "offset", tail.Offset, "bytes", tail.Bytes, "newer_files", tail.Newer, "last_seq", s.found.Last)
	}
	logger.Debug("the log is whole", "first_seq", s.found.First, "last_seq", s.found.Last, "blocks", s.found.Blocks, "took", time.Since(began))
	return nil
}

// opened says whether the server serves what was read before it opened the log.
func (s *Server) opened(l *Log) error {
	if s.found.LogID == "" {
		return nil // no stream yet
	}
	ctx, cancel := context.WithTimeout(context.Background(), openTimeout)
	defer cancel()
	stream, err := l.js.Stream(ctx, s.config.Stream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("the server does not open the log of stream %s, which is whole: see its warnings above", s.config.Stream)
	}
	if err != nil {
		return fmt.Errorf("look at what the server has opened: %w", err)
	}
	have, want := stream.CachedInfo(), s.found
	if have.State.Msgs != want.Events || have.State.LastSeq != want.Last || have.Config.Metadata[metaLogID] != want.LogID ||
		want.Events > 0 && have.State.FirstSeq != want.First {
		return fmt.Errorf("the server has opened %d messages, seq %d to %d, of log %s, where there are %d, seq %d to %d, of log %s; "+
			"stop ingest and compare with: ingest check", have.State.Msgs, have.State.FirstSeq, have.State.LastSeq, have.Config.Metadata[metaLogID],
			want.Events, want.First, want.Last, want.LogID)
	}
	return nil
}

// openTimeout is for the first answer of a server that has read its index.
const openTimeout = 30 * time.Second

// begun makes a stream that is there the log's own.
func (l *Log) begun() error {
	if l.made == nil {
		return nil
	}
	return l.made()
}
