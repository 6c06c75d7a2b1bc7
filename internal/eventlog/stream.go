package eventlog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/payfold/payfold/internal/eventlog/blockstore"
)

// EnsureStream waits for the connection and creates the stream if it is missing. It never
// changes an existing stream, and logs how its settings differ from config.
func (l *Log) EnsureStream(ctx context.Context, config StreamConfig, logger *slog.Logger) error {
	if err := l.awaitConnection(ctx); err != nil {
		return err
	}
	existing, err := l.js.Stream(ctx, config.Name)
	if err == nil && existing.CachedInfo().Config.Metadata[blockstore.MetaRestoring] != "" {
		return ErrRestoring
	}
	if err == nil {
		reportDifferences(ctx, logger, config, existing.CachedInfo().Config)
		l.committer.begin(existing.CachedInfo().State.LastSeq)
		return l.beginStream()
	}
	if !errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("look up stream %s: %w", config.Name, err)
	}
	_, err = l.js.CreateStream(ctx, config.jetstream())
	if apiError := new(jetstream.APIError); errors.As(err, &apiError) && apiError.ErrorCode == replicasNotSupported {
		return fmt.Errorf("create stream %s: a single server cannot hold %d replicas: "+
			"start a cluster; or set STREAM_REPLICAS=1, and sync_interval: always on the server", config.Name, config.Replicas)
	}
	if err != nil {
		return fmt.Errorf("create stream %s: %w", config.Name, err)
	}
	return l.beginStream()
}

// CreateStream is EnsureStream for an operator: it fails if the settings of an existing stream do
// not keep every event, and warns of a stream that one server keeps.
func (l *Log) CreateStream(ctx context.Context, config StreamConfig, logger *slog.Logger) error {
	if err := l.EnsureStream(ctx, config, logger); err != nil {
		return err
	}
	info, err := l.Info(ctx)
	if err = cmp.Or(err, info.Unsafe); err != nil {
		return err
	}
	if info.Durability == OneServer {
		logger.WarnContext(ctx, "the stream has one replica: a power cut of its server may lose events that were answered 200, unless the server sets sync_interval: always")
	}
	logger.InfoContext(ctx, "the stream exists", "stream", config.Name, "replicas", info.Replicas)
	return nil
}

// beginStream makes the stream itself durable, before anything in it is confirmed. In a cluster the servers do that.
func (l *Log) beginStream() error {
	if l.server == nil {
		return nil
	}
	return l.server.syncer.Begin()
}

// replicasNotSupported is JSStreamReplicasNotSupportedErr.
const replicasNotSupported = 10074

func reportDifferences(ctx context.Context, logger *slog.Logger, want StreamConfig, have jetstream.StreamConfig) {
	for _, d := range []struct{ setting, want, have string }{
		{"replicas", strconv.Itoa(want.Replicas), strconv.Itoa(have.Replicas)},
		{"partitions", strconv.Itoa(want.Partitions), have.Metadata[blockstore.MetaPartitions]},
		{"duplicate_window", want.DuplicateWindow.String(), have.Duplicates.String()},
		{"log_keep_is_set", strconv.FormatBool(want.Trimmable), strconv.FormatBool(have.Metadata[blockstore.MetaTrimmable] != "")},
	} {
		if d.want != d.have {
			logger.WarnContext(ctx, "the stream differs from the configuration and stays as it is",
				"setting", d.setting, "configured", d.want, "stream", d.have)
		}
	}
}
