package main

import (
	"time"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/archive/storage"
	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/providers"
	"github.com/payfold/payfold/internal/telemetry/traces"
)

type serveCommand struct {
	logFlags
	secretFlags
	pullFlags
	ListenAddr  string        `name:"listen-addr" env:"LISTEN_ADDR" help:"Where deliveries arrive (default :8080, or :PORT)."`
	Port        string        `name:"port" env:"PORT" help:"Port to listen on if listen-addr is unset."`
	AdminAddr   string        `name:"admin-addr" env:"ADMIN_ADDR" default:"127.0.0.1:8081" help:"Health, metrics and profiles, without a password."`
	MaxInFlight int           `name:"max-in-flight" env:"MAX_IN_FLIGHT" default:"1024" help:"Maximum number of deliveries that are stored at once."`
	Interval    time.Duration `name:"archive-interval" env:"ARCHIVE_INTERVAL" default:"1m" help:"How long an event may wait until it is archived, 100ms to 24h."`
}

// maxBody leaves room for the headers in a message, which may have 1 MiB.
const maxBody = 1<<20 - 16<<10

// maxPublishTimeout leaves time for the answer, which must be sent within five seconds.
const maxPublishTimeout = 4500 * time.Millisecond

// A segment costs two fsyncs or some requests, so there must be a pause between two.
const (
	minArchiveInterval = 100 * time.Millisecond
	maxArchiveInterval = 24 * time.Hour
)

// Check implements cli.Checked.
func (c *serveCommand) Check(faults *cli.Faults) {
	c.logFlags.Check(faults)
	c.pullFlags.Check(faults)
	c.optional = c.PullInterval > 0 && len(c.apis) > 0
	c.secretFlags.Check(faults)
	faults.Add(traces.Check())
	cli.CheckSecretVariables(faults, traces.Credentials...)
	if c.Interval < minArchiveInterval || c.Interval > maxArchiveInterval {
		faults.Addf("ARCHIVE_INTERVAL is %s, must be %s to 24h", c.Interval, minArchiveInterval)
	}
	name := "LISTEN_ADDR"
	switch {
	case c.ListenAddr == "" && c.Port == "":
		c.ListenAddr = ":8080"
	case c.ListenAddr == "":
		name, c.ListenAddr = "PORT", ":"+c.Port
	}
	cli.CheckAddress(name, c.ListenAddr, faults)
	cli.CheckAddress("ADMIN_ADDR", c.AdminAddr, faults)
	if c.MaxInFlight < 1 {
		faults.Addf("MAX_IN_FLIGHT is %d, must be at least 1", c.MaxInFlight)
	}
}

// logFlags say which log is opened for writing, and what it accepts.
type logFlags struct {
	cli.Common
	streamFlags
	cli.ArchiveFlags
	keepFlags
	Replicas       int           `name:"stream-replicas" env:"STREAM_REPLICAS" default:"1" help:"Replicas of a new stream, 1 to 5; in a cluster the default is 3."`
	EmbeddedAddr   string        `name:"embedded-nats-addr" env:"EMBEDDED_NATS_ADDR" help:"TCP address of the embedded log for readers that cannot use the socket in the data directory."`
	MaxBodyBytes   int64         `name:"max-body-bytes" env:"MAX_BODY_BYTES" default:"524288" help:"Largest body accepted; at most 1032192, which NATS accepts."`
	PublishTimeout time.Duration `name:"publish-timeout" env:"PUBLISH_TIMEOUT" default:"3s" help:"How long the log may take to acknowledge, at most 4.5s; then the answer is 503."`
}

// Check implements cli.Checked.
func (c *logFlags) Check(faults *cli.Faults) {
	c.Common.Check(faults)
	c.streamFlags.Check(faults)
	c.CheckArchive(&c.Common, faults)
	c.keepFlags.Check(faults)
	c.checkArchived(c.ArchiveURL, faults)
	checkReplicas(c.Replicas, faults)
	if c.EmbeddedAddr != "" {
		cli.CheckAddress("EMBEDDED_NATS_ADDR", c.EmbeddedAddr, faults)
	}
	if c.MaxBodyBytes < 1 || c.MaxBodyBytes > maxBody {
		faults.Addf("MAX_BODY_BYTES is %d, must be 1 to %d", c.MaxBodyBytes, maxBody)
	}
	if c.PublishTimeout <= 0 || c.PublishTimeout > maxPublishTimeout {
		faults.Addf("PUBLISH_TIMEOUT is %s, must be above 0 and at most %s", c.PublishTimeout, maxPublishTimeout)
	}
}

type secretFlags struct {
	cli.SecretFlags

	optional bool              // no secret is needed, because events are pulled
	secrets  providers.Secrets // of each provider that is served
	weak     []string          // the variables of secrets that can be guessed
}

// minSecret is in bytes. A shorter secret can be guessed.
const minSecret = 16

// Check implements cli.Checked.
func (s *secretFlags) Check(faults *cli.Faults) {
	read := s.Require
	if s.optional {
		read = s.Take
	}
	all := read(faults)
	s.secrets, s.weak = cli.NewSecrets(all, faults), nil
	for _, given := range all {
		if len(given.Text) < minSecret {
			s.weak = append(s.weak, given.Variable)
		}
	}
}

// seqLimit: from here on the server's files use bits of the sequence for flags, and the
// tables' columns overflow.
const seqLimit = 1 << 62

type streamFlags struct {
	Partitions      int           `name:"stream-partitions" env:"STREAM_PARTITIONS" default:"64" help:"Partitions of a new stream, 1 to 1024, which can never be changed: at most so many projectors share the work."`
	FirstSeq        uint64        `name:"stream-first-seq" env:"STREAM_FIRST_SEQ" help:"First sequence of a new stream that replaces a lost one; see projector adopt-log."`
	DuplicateWindow time.Duration `name:"duplicate-window" env:"DUPLICATE_WINDOW" default:"30m" help:"How long a new stream remembers event ids, 1s to 24h."`
}

// Check implements cli.Checked.
func (s *streamFlags) Check(faults *cli.Faults) {
	if s.Partitions < 1 || s.Partitions > 1024 {
		faults.Addf("STREAM_PARTITIONS is %d, must be 1 to 1024", s.Partitions)
	}
	if s.FirstSeq >= seqLimit {
		faults.Addf("STREAM_FIRST_SEQ is %d, must be below %d", s.FirstSeq, uint64(seqLimit))
	}
	checkWindow(s.DuplicateWindow, faults)
}

// checkWindow adds a fault if the duplicate window is too short or too long.
func checkWindow(window time.Duration, faults *cli.Faults) {
	if window < time.Second || window > 24*time.Hour {
		faults.Addf("DUPLICATE_WINDOW is %s, must be 1s to 24h", window)
	}
}

// checkReplicas adds a fault if no NATS stream can have so many replicas.
func checkReplicas(replicas int, faults *cli.Faults) {
	if replicas < 1 || replicas > 5 {
		faults.Addf("STREAM_REPLICAS is %d, must be 1 to 5", replicas)
	}
}

func (s *streamFlags) config(name string, replicas int, keep keepFlags) eventlog.StreamConfig {
	return eventlog.StreamConfig{
		Name: name, Replicas: replicas, Partitions: s.Partitions, DuplicateWindow: s.DuplicateWindow, FirstSeq: s.FirstSeq,
		Trimmable: !keep.keep.All(),
	}
}

// keepFlags say how much of the archived log its server keeps.
type keepFlags struct {
	KeepText string `name:"log-keep" env:"LOG_KEEP" placeholder:"N" help:"How much of the archived log its server keeps: a number of the newest events, or a time like 720h; the default is everything."`

	keep archive.Keep
}

// Check implements cli.Checked.
func (k *keepFlags) Check(faults *cli.Faults) {
	k.keep = archive.Keep{}
	if k.KeepText == "" {
		return
	}
	var err error
	if k.keep, err = archive.ParseKeep(k.KeepText); err != nil {
		faults.Addf("LOG_KEEP is %q, %w", k.KeepText, err)
	}
}

// checkArchived adds a fault if the log would be trimmed without an archive.
func (k *keepFlags) checkArchived(archiveURL string, faults *cli.Faults) {
	if !k.keep.All() && archiveURL == storage.None {
		faults.Addf("LOG_KEEP is set and ARCHIVE_URL is none: only archived events can be removed from the log; name an archive, or unset LOG_KEEP")
	}
}
