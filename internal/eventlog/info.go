package eventlog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/eventlog/blockstore"
	"github.com/payfold/payfold/internal/eventlog/connection"
	"github.com/payfold/payfold/internal/eventlog/wire"
	"github.com/payfold/payfold/internal/events"
)

// ErrNoStream means that the stream does not exist yet.
var ErrNoStream = errors.New("the stream does not exist; create it with: ingest create-stream; if it is lost, restore it with: ingest restore")

var errNoLeader = errors.New("the stream has no leader: most of its servers are away, or this one is cut off from them")

// Info describes the stream at one moment.
type Info struct {
	LogID      string
	Partitions int
	First      uint64    // sequence of the log's first message, also if only the archive still has it
	Last       uint64    // head; 0 in an empty new log
	StoredAt   time.Time // when the newest message was stored; zero in an empty log

	ServerFirst uint64 // sequence of the oldest message that the server has; Last+1 if it has none
	Messages    uint64 // number of messages that it has
	Bytes       uint64 // of these, as the server stores them

	Trimmable  bool // the stream was made so that its oldest messages can be removed
	Replicas   int
	Current    int      // number of replicas that have what the leader has, with the leader; others are behind or away
	Servers    []string // their names
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

// Info asks the stream's leader. It returns ErrNoStream if there is no stream, and another
// error if payfold did not create the stream.
func (l *Log) Info(ctx context.Context) (Info, error) {
	if !l.conn.IsConnected() {
		return Info{}, l.notConnected()
	}
	stream, err := l.js.Stream(ctx, l.name)
	if err == nil && connection.IsLeaderless(stream.CachedInfo()) {
		err = errNoLeader
	}
	l.patience.Asked(err == nil || errors.Is(err, jetstream.ErrStreamNotFound))
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return Info{}, ErrNoStream
	}
	if err != nil {
		return Info{}, fmt.Errorf("read stream info of %s: %w", l.name, err)
	}
	have := stream.CachedInfo()
	servers := l.current(have.Cluster)
	partitions, err := strconv.Atoi(have.Config.Metadata[blockstore.MetaPartitions])
	if err != nil || partitions < 1 || have.Config.Metadata[blockstore.MetaLogID] == "" {
		return Info{}, fmt.Errorf("stream %s was not made by payfold: its metadata lacks %s or %s", l.name, blockstore.MetaLogID, blockstore.MetaPartitions)
	}
	if have.Config.Metadata[blockstore.MetaRestoring] != "" && !l.restoring {
		return Info{}, ErrRestoring
	}
	if format := have.Config.Metadata[blockstore.MetaFormat]; format != blockstore.Format {
		return Info{}, fmt.Errorf("stream %s has format %q, this build reads format %s", l.name, format, blockstore.Format)
	}
	info := Info{
		LogID:      have.Config.Metadata[blockstore.MetaLogID],
		Partitions: partitions,
		First:      max(have.Config.FirstSeq, 1), // 0 means 1
		Last:       have.State.LastSeq,
		StoredAt:   have.State.LastTime.UTC(),

		ServerFirst: max(have.State.FirstSeq, 1), // the server reports 0 for a new stream
		Messages:    have.State.Msgs,
		Bytes:       have.State.Bytes,
		Trimmable:   have.Config.Metadata[blockstore.MetaTrimmable] != "",
		Replicas:    have.Config.Replicas,
		Current:     len(servers),
		Servers:     servers,
		Durability:  l.durability(have.Config.Replicas),
		Unsafe:      checkStream(have, partitions),
	}
	if info.Messages == 0 { // the server may still have a time: that of the mark where the log begins
		info.StoredAt = time.Time{}
	}
	if info.Unsafe == nil && info.Trimmable && l.whole {
		info.Unsafe = &UnsafeError{[]string{"the stream was made with LOG_KEEP, so that messages can be removed, and LOG_KEEP is not set"}}
	}
	return info, nil
}

// current returns the servers whose replica has what the leader's has, the leader first. Without a cluster there is only
// one.
func (l *Log) current(cluster *jetstream.ClusterInfo) []string {
	servers := []string{l.leader(cluster)}
	if cluster != nil {
		for _, replica := range cluster.Replicas {
			if replica.Current && !replica.Offline {
				servers = append(servers, replica.Name)
			}
		}
	}
	return servers
}

// leader returns the name of the server that leads a stream or has a consumer.
func (l *Log) leader(cluster *jetstream.ClusterInfo) string {
	if cluster == nil {
		return l.conn.ConnectedServerName()
	}
	return cluster.Leader
}

// Head implements archive.Source.
func (l *Log) Head(ctx context.Context) (archive.Head, error) {
	info, err := l.Info(ctx)
	return archive.Head{
		LogID: info.LogID, Partitions: info.Partitions, Begin: info.First, First: info.ServerFirst, Last: info.Last, Bytes: info.Bytes, Trimmable: info.Trimmable,
	}, err
}

// AwaitInfo waits for the connection, at most for timeout, and then calls Info.
func (l *Log) AwaitInfo(ctx context.Context, timeout time.Duration) (Info, error) {
	waiting, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for {
		if err := l.awaitConnection(waiting); err != nil {
			return Info{}, cmp.Or(ctx.Err(), err)
		}
		info, err := l.Info(ctx)
		if !errors.Is(err, ErrDisconnected) { // otherwise the connection was lost again
			return info, err
		}
	}
}

// restartTimeout is longer than a restart of a server, whose log is small, takes.
const restartTimeout = 3 * time.Second

// sayAfter is how long a person waits without being told for what.
const sayAfter = 5 * time.Second

// Reach is AwaitInfo for a command with which a person waits: the logger says so after five seconds. If nothing listens
// where the log should be, or it refuses the connection, Reach ends after three seconds.
func (l *Log) Reach(ctx context.Context, logger *slog.Logger, timeout time.Duration) (Info, error) {
	late := time.AfterFunc(sayAfter, func() { logger.WarnContext(ctx, "the log does not answer yet", "timeout", timeout) })
	defer late.Stop()
	waiting, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	away := time.AfterFunc(restartTimeout, func() {
		if l.dialer.Refused() || errors.Is(l.conn.LastError(), nats.ErrAuthorization) {
			cancel()
		}
	})
	defer away.Stop()
	if err := l.awaitConnection(waiting); err != nil {
		return Info{}, cmp.Or(ctx.Err(), err)
	}
	return l.AwaitInfo(ctx, timeout)
}

func (l *Log) durability(replicas int) Durability {
	switch {
	case l.server != nil, l.access != nil:
		return Fsynced // the writing process syncs before it confirms
	case replicas > 1:
		return Quorum
	default:
		return OneServer
	}
}

// Waiting describes the messages of a partition after a position.
type Waiting struct {
	Count  uint64
	Oldest events.Message // without its body; the zero Message if Count is 0
}

// Waiting counts the messages of a partition after a position, without reading them all.
func (l *Log) Waiting(ctx context.Context, partition int, after uint64) (Waiting, error) {
	ctx, cancel := context.WithTimeout(ctx, l.request)
	defer cancel()
	config := jetstream.ConsumerConfig{
		FilterSubject: wire.Subject(partition),
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: after + 1,
		HeadersOnly: true,
	}
	ctx, consumer, stop, err := l.consume(ctx, config)
	if err != nil {
		return Waiting{}, fmt.Errorf("count the messages of partition %d: %w", partition, err)
	}
	defer stop()
	out := Waiting{Count: consumer.CachedInfo().NumPending}
	if out.Count == 0 {
		return out, nil
	}
	first, err := consumer.Next(jetstream.FetchContext(ctx))
	if err == nil {
		out.Oldest, _, err = wire.FromConsumer(first)
	}
	if err != nil {
		return Waiting{}, fmt.Errorf("read the oldest message of partition %d after seq %d: %w", partition, after, err)
	}
	return out, nil
}
