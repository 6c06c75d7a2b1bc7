package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/eventlog/blockstore"
	"github.com/payfold/payfold/internal/events"
)

// logFlags configure the log.
type logFlags struct {
	dir, sync string
	slower    time.Duration // added to each fsync
}

var stream = eventlog.StreamConfig{Name: "PAYMENTS", Replicas: 1, Partitions: 64, DuplicateWindow: 30 * time.Minute}

func (l logFlags) open() (appender, error) {
	logger := slog.New(slog.DiscardHandler)
	var log *eventlog.Log
	var err error
	if l.sync == "always" {
		log, err = l.syncedAlways(logger)
	} else {
		log, err = l.syncedInGroups(logger)
	}
	if err != nil {
		return nil, err
	}
	if err := log.EnsureStream(context.Background(), stream, logger); err != nil {
		return nil, err
	}
	if l.sync == "always" && l.slower > 0 {
		return &slowServer{Log: log, slower: l.slower}, nil
	}
	return log, nil
}

// syncedInGroups opens the log of ingest.
func (l logFlags) syncedInGroups(logger *slog.Logger) (*eventlog.Log, error) {
	s, err := eventlog.StartEmbedded(context.Background(), eventlog.EmbeddedConfig{
		DataDir: l.dir, Stream: stream.Name, Logger: logger,
		SyncBlock: func(block *os.File) error {
			time.Sleep(l.slower)
			return blockstore.SyncData(block)
		},
	})
	if err != nil {
		return nil, err
	}
	return s.Connect()
}

// syncedAlways starts a nats-server that syncs each message before it acknowledges it, one
// after the other.
func (l logFlags) syncedAlways(logger *slog.Logger) (*eventlog.Log, error) {
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true,
		JetStream: true, StoreDir: l.dir, SyncAlways: true,
	})
	if err != nil {
		return nil, err
	}
	s.Start()
	if !s.ReadyForConnections(time.Minute) {
		return nil, errors.New("nats-server did not start")
	}
	return eventlog.Connect(eventlog.Config{URL: s.ClientURL(), Stream: stream.Name, Logger: logger})
}

// slowServer imitates a server with a slower disk, which holds its lock during an fsync.
type slowServer struct {
	*eventlog.Log
	slower time.Duration
	disk   sync.Mutex
}

// Append appends one delivery at a time.
func (s *slowServer) Append(ctx context.Context, d events.Delivery) (duplicate bool, err error) {
	s.disk.Lock()
	defer s.disk.Unlock()
	duplicate, err = s.Log.Append(ctx, d)
	time.Sleep(s.slower)
	return duplicate, err
}
