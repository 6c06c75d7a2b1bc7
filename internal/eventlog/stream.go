package eventlog

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	subjectPrefix = "payments."
	formatVersion = "1"

	metaLogID      = "log_id"
	metaPartitions = "partitions"
	metaFormat     = "format"
)

// ErrNoStream: the stream does not exist yet.
var ErrNoStream = errors.New("the stream does not exist; create it with: ingest create-stream")

// StreamConfig describes a new stream. An existing stream is never changed.
type StreamConfig struct {
	Name            string
	Replicas        int
	Partitions      int // fixed at creation; at most this many projectors can share the work
	DuplicateWindow time.Duration
	FirstSeq        uint64 // 0 means 1; a log that continues a lost one begins after it
}

// Info describes the stream at one moment.
type Info struct {
	LogID      string
	Partitions int
	First      uint64 // sequence of the oldest message; Last+1 in an empty log
	Last       uint64 // head; 0 in an empty new log
	Messages   uint64 // number of messages

	Replicas   int
	Durability Durability
	Unsafe     error // an UnsafeError; nil if the stream keeps every event
}

// Durability says where an event is stored when it is acknowledged.
type Durability string

const (
	// Fsynced: the event is on the disk of the embedded log's machine.
	Fsynced Durability = "fsynced"
	// Quorum: most of the replicas have the event. It survives the loss of one replica. It
	// survives a power cut of all replicas at once only if they run with "sync always".
	Quorum Durability = "quorum"
	// OneServer: one server that payfold did not start has the event. By default such a
	// server acknowledges before it syncs; payfold cannot find out.
	OneServer Durability = "one_server"
)

// EnsureStream waits for the connection and creates the stream if it is missing. It never
// changes an existing stream, and logs how its settings differ from config.
func (l *Log) EnsureStream(ctx context.Context, config StreamConfig, logger *slog.Logger) error {
	if err := l.connected(ctx); err != nil {
		return err
	}
	existing, err := l.js.Stream(ctx, config.Name)
	if err == nil {
		reportDifferences(ctx, logger, config, existing.CachedInfo().Config)
		l.committer.begin(existing.CachedInfo().State.LastSeq)
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

// replicasNotSupported is JSStreamReplicasNotSupportedErr.
const replicasNotSupported = 10074

func (c StreamConfig) jetstream() jetstream.StreamConfig {
	subjects := make([]string, c.Partitions)
	for p := range subjects {
		subjects[p] = subject(p)
	}
	return jetstream.StreamConfig{
		Name:        c.Name,
		Description: "payfold: every signed payment event, for ever",
		Subjects:    subjects,
		Storage:     jetstream.FileStorage,
		Retention:   jetstream.LimitsPolicy,
		Discard:     jetstream.DiscardNew,
		DenyDelete:  true,
		DenyPurge:   true,
		AllowDirect: true,
		Replicas:    c.Replicas,
		FirstSeq:    c.FirstSeq,
		Duplicates:  c.DuplicateWindow,

		MaxConsumers: -1, MaxMsgs: -1, MaxBytes: -1, MaxMsgsPerSubject: -1, MaxMsgSize: -1,
		Metadata: map[string]string{
			metaLogID:      newLogID(),
			metaPartitions: strconv.Itoa(c.Partitions),
			metaFormat:     formatVersion,
		},
	}
}

func newLogID() string {
	var id [16]byte
	rand.Read(id[:]) // never fails
	return hex.EncodeToString(id[:])
}

func subject(partition int) string { return subjectPrefix + strconv.Itoa(partition) }

func reportDifferences(ctx context.Context, logger *slog.Logger, want StreamConfig, have jetstream.StreamConfig) {
	for _, d := range []struct{ setting, want, have string }{
		{"replicas", strconv.Itoa(want.Replicas), strconv.Itoa(have.Replicas)},
		{"partitions", strconv.Itoa(want.Partitions), have.Metadata[metaPartitions]},
		{"duplicate_window", want.DuplicateWindow.String(), have.Duplicates.String()},
	} {
		if d.want != d.have {
			logger.WarnContext(ctx, "the stream differs from the configuration and stays as it is",
				"setting", d.setting, "configured", d.want, "stream", d.have)
		}
	}
}

// Info asks the stream's leader. It returns ErrNoStream if there is no stream, and another
// error if payfold did not create the stream.
func (l *Log) Info(ctx context.Context) (Info, error) {
	if !l.conn.IsConnected() {
		return Info{}, l.disconnected()
	}
	stream, err := l.js.Stream(ctx, l.name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return Info{}, ErrNoStream
	}
	if err != nil {
		return Info{}, fmt.Errorf("read stream info of %s: %w", l.name, err)
	}
	have := stream.CachedInfo()
	partitions, err := strconv.Atoi(have.Config.Metadata[metaPartitions])
	if err != nil || partitions < 1 || have.Config.Metadata[metaLogID] == "" {
		return Info{}, fmt.Errorf("stream %s was not made by payfold: its metadata lacks %s or %s", l.name, metaLogID, metaPartitions)
	}
	if have.Config.Metadata[metaFormat] != formatVersion {
		return Info{}, fmt.Errorf("stream %s has format %q, this build reads format %s", l.name, have.Config.Metadata[metaFormat], formatVersion)
	}
	return Info{
		LogID:      have.Config.Metadata[metaLogID],
		Partitions: partitions,
		First:      max(have.State.FirstSeq, 1), // the server reports 0 for a new stream
		Last:       have.State.LastSeq,
		Messages:   have.State.Msgs,
		Replicas:   have.Config.Replicas,
		Durability: l.durability(have.Config.Replicas),
		Unsafe:     checkSettings(have.Config, partitions),
	}, nil
}

func (l *Log) durability(replicas int) Durability {
	switch {
	case l.confirm != nil:
		return Fsynced // the writing process syncs before it confirms
	case replicas > 1:
		return Quorum
	default:
		return OneServer
	}
}
