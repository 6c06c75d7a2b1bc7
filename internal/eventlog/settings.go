package eventlog

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/payfold/payfold/internal/eventlog/blockstore"
	"github.com/payfold/payfold/internal/eventlog/wire"
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

// jetstream returns the settings of the stream.
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
			blockstore.MetaLogID:      cmp.Or(c.LogID, newLogID()),
			blockstore.MetaPartitions: strconv.Itoa(c.Partitions),
			blockstore.MetaFormat:     blockstore.Format,
		},
	}
	if c.Trimmable {
		config.Metadata[blockstore.MetaTrimmable] = "true"
	}
	return config
}

func newLogID() string {
	var id [16]byte
	rand.Read(id[:]) // never fails
	return hex.EncodeToString(id[:])
}

// ErrRestoring means that the stream does not have all of its messages yet. Nobody reads it, and no
// event is appended, until its restore has ended.
var ErrRestoring = errors.New("the log is being restored from an archive, and is not complete; finish with the same command: ingest restore")

// restoringPrefix is the prefix of the subjects on which a restore publishes. The server stores
// these messages under the usual subjects. Until Finish it accepts no message on the usual
// subjects: a running ingest, or any other publisher, gets no answer and confirms nothing.
const restoringPrefix = wire.SubjectPrefix + "restoring."

// restoring returns the settings of the stream until its restore has ended.
func (c StreamConfig) restoring() jetstream.StreamConfig {
	config := c.jetstream()
	config.Metadata[blockstore.MetaRestoring] = "true"
	for i, subject := range config.Subjects {
		config.Subjects[i] = restoringPrefix + strings.TrimPrefix(subject, wire.SubjectPrefix)
	}
	config.SubjectTransform = &jetstream.SubjectTransformConfig{Source: restoringPrefix + "*", Destination: wire.SubjectPrefix + "{{wildcard(1)}}"}
	return config
}

// restored returns the settings that a stream has after its restore. It returns the settings of
// other streams unchanged.
func restored(config jetstream.StreamConfig) jetstream.StreamConfig {
	if config.Metadata[blockstore.MetaRestoring] == "" {
		return config
	}
	config.Metadata, config.Subjects = maps.Clone(config.Metadata), slices.Clone(config.Subjects)
	delete(config.Metadata, blockstore.MetaRestoring)
	for i, subject := range config.Subjects {
		if partition, is := strings.CutPrefix(subject, restoringPrefix); is {
			config.Subjects[i] = wire.SubjectPrefix + partition
		}
	}
	config.SubjectTransform = nil
	return config
}

// UnsafeError names the settings with which a stream could lose, refuse or change events, and what
// the server that leads it has lost. Appends to such a stream are not confirmed, and nothing is
// projected from it. payfold does not change the stream; its administrator must.
type UnsafeError struct {
	Settings []string // each with its value and the one it must have
}

func (e *UnsafeError) Error() string {
	return "the stream does not keep every event as it is for ever: " + strings.Join(e.Settings, "; ")
}

// optionalSettings are the settings that an administrator may choose, because none of them
// removes, refuses or changes an event. Every other setting must be as create-stream sets
// it, also settings that later versions of NATS add.
var optionalSettings = []string{
	"name", "description", "metadata",
	"num_replicas", "placement", "compression", // see Durability
	"duplicate_window", // only an optimisation: Postgres finds every duplicate
	"first_seq",
	"allow_direct", "mirror_direct", "republish", // other programs may read the stream too
	"allow_atomic", "allow_batched", // a publisher must ask for these, and payfold does not
}

// checkStream returns an UnsafeError if the stream can lose events, or has lost some.
func checkStream(have *jetstream.StreamInfo, partitions int) error {
	wrong := checkSettings(restored(have.Config), partitions)
	if lost, of := lostMessages(have); lost > 0 {
		server := "its server"
		if have.Cluster != nil {
			server += " " + have.Cluster.Leader
		}
		wrong = append(wrong, fmt.Sprintf("%s has lost %d of %d messages", server, lost, of))
	}
	if wrong == nil {
		return nil
	}
	return &UnsafeError{wrong}
}

// lostMessages returns how many messages the server lacks, and how many it should have. A stream of
// payfold has no gap, and begins with its first message unless it can be trimmed.
func lostMessages(have *jetstream.StreamInfo) (lost, of uint64) {
	first := max(have.State.FirstSeq, 1)
	if have.Config.Metadata[blockstore.MetaTrimmable] == "" {
		first = max(have.Config.FirstSeq, 1)
	}
	of = max(have.State.LastSeq+1, first) - first
	return max(of, have.State.Msgs) - have.State.Msgs, of
}

// checkSettings compares the stream's settings with those of a new stream with the same number of
// partitions, which can be trimmed if this stream can. It returns those that differ, except the
// optional ones.
func checkSettings(have jetstream.StreamConfig, partitions int) (wrong []string) {
	want := StreamConfig{Partitions: partitions, Trimmable: have.Metadata[blockstore.MetaTrimmable] != ""}.jetstream()
	h, w := reflect.ValueOf(have), reflect.ValueOf(want)
	for i := range h.NumField() {
		name, _, _ := strings.Cut(h.Type().Field(i).Tag.Get("json"), ",")
		is, must := h.Field(i), w.Field(i)
		switch {
		case slices.Contains(optionalSettings, name):
		case name == "subjects":
			if !sameSubjects(have.Subjects, want.Subjects) {
				wrong = append(wrong, fmt.Sprintf("subjects are not exactly %s0 to %s%d", wire.SubjectPrefix, wire.SubjectPrefix, partitions-1))
			}
		case unlimited(is) && unlimited(must):
		case !reflect.DeepEqual(is.Interface(), must.Interface()):
			wrong = append(wrong, fmt.Sprintf("%s is %s, must be %s", name, setting(is), setting(must)))
		}
	}
	return wrong
}

// unlimited reports whether the value means "no limit" to the server: zero or less.
func unlimited(value reflect.Value) bool { return value.CanInt() && value.Int() <= 0 }

func sameSubjects(have, want []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(have)), slices.Sorted(slices.Values(want)))
}

// setting formats the value as the server's own tools do.
func setting(value reflect.Value) string {
	if duration, ok := value.Interface().(time.Duration); ok {
		return duration.String()
	}
	text, err := json.Marshal(value.Interface())
	if err != nil {
		return fmt.Sprint(value.Interface())
	}
	return string(text)
}
