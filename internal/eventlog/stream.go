package eventlog

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/payfold/payfold/internal/eventlog/wire"
)

const (
	formatVersion = "1"

	metaLogID      = "log_id"
	metaPartitions = "partitions"
	metaFormat     = "format"
	metaRestoring  = "restoring" // while a restore has not ended
	metaTrimmable  = "trimmable" // the oldest messages may be removed: see Log.Trim
)

// StreamConfig describes a new stream. An existing stream is never changed.
type StreamConfig struct {
	Name            string
	Replicas        int
	Partitions      int // fixed at creation; at most this many projectors can share the work
	DuplicateWindow time.Duration
	LogID           string // of a log that is restored; empty for a new one
	FirstSeq        uint64 // 0 means 1; a log that continues a lost one begins after it
	Trimmable       bool   // see Log.Trim; fixed at creation
}

// EnsureStream waits for the connection and creates the stream if it is missing. It never
// changes an existing stream, and logs how its settings differ from config.
func (l *Log) EnsureStream(ctx context.Context, config StreamConfig, logger *slog.Logger) error {
	if err := l.connected(ctx); err != nil {
		return err
	}
	existing, err := l.js.Stream(ctx, config.Name)
	if err == nil && existing.CachedInfo().Config.Metadata[metaRestoring] != "" {
		return ErrRestoring
	}
	if err == nil {
		reportDifferences(ctx, logger, config, existing.CachedInfo().Config)
		l.committer.Begin(existing.CachedInfo().State.LastSeq)
		return l.streamExists()
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
	return l.streamExists()
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

// streamExists runs the onStream hook.
func (l *Log) streamExists() error {
	if l.onStream == nil {
		return nil
	}
	return l.onStream()
}

// replicasNotSupported is JSStreamReplicasNotSupportedErr.
const replicasNotSupported = 10074

func (c StreamConfig) jetstream() jetstream.StreamConfig {
	subjects := make([]string, c.Partitions)
	for p := range subjects {
		subjects[p] = wire.Subject(p)
	}
	config := jetstream.StreamConfig{
		Name:        c.Name,
		Description: "payfold: every signed payment event, for ever",
		Subjects:    subjects,
		Storage:     jetstream.FileStorage,
		Retention:   jetstream.LimitsPolicy,
		Discard:     jetstream.DiscardNew,
		DenyDelete:  true,
		DenyPurge:   !c.Trimmable,
		AllowDirect: true,
		Replicas:    c.Replicas,
		FirstSeq:    c.FirstSeq,
		Duplicates:  c.DuplicateWindow,

		MaxConsumers: -1, MaxMsgs: -1, MaxBytes: -1, MaxMsgsPerSubject: -1, MaxMsgSize: -1,
		Metadata: map[string]string{
			metaLogID:      cmp.Or(c.LogID, newLogID()),
			metaPartitions: strconv.Itoa(c.Partitions),
			metaFormat:     formatVersion,
		},
	}
	if c.Trimmable {
		config.Metadata[metaTrimmable] = "true"
	}
	return config
}

func newLogID() string {
	var id [16]byte
	rand.Read(id[:]) // never fails
	return hex.EncodeToString(id[:])
}

func reportDifferences(ctx context.Context, logger *slog.Logger, want StreamConfig, have jetstream.StreamConfig) {
	for _, d := range []struct{ setting, want, have string }{
		{"replicas", strconv.Itoa(want.Replicas), strconv.Itoa(have.Replicas)},
		{"partitions", strconv.Itoa(want.Partitions), have.Metadata[metaPartitions]},
		{"duplicate_window", want.DuplicateWindow.String(), have.Duplicates.String()},
		{"trimmable", strconv.FormatBool(want.Trimmable), strconv.FormatBool(have.Metadata[metaTrimmable] != "")},
	} {
		if d.want != d.have {
			logger.WarnContext(ctx, "the stream differs from the configuration and stays as it is",
				"setting", d.setting, "configured", d.want, "stream", d.have)
		}
	}
}
