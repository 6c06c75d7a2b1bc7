package endtoend

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/archive/storage"
	"github.com/payfold/payfold/internal/eventlog/wire"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/tables"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/archiver"
	"github.com/payfold/payfold/internal/testenv/specification"
)

// forgetful is a NATS server whose stream may be purged, unlike a stream of payfold.
type forgetful struct {
	*testenv.NATS
	stream jetstream.Stream
	env    []string
}

func newForgetful(t *testing.T) *forgetful {
	t.Helper()
	f := &forgetful{NATS: testenv.NewNATS(t)}
	subjects := make([]string, 8)
	for i := range subjects {
		subjects[i] = wire.Subject(i)
	}
	var err error
	f.stream, err = f.JetStream.CreateStream(t.Context(), jetstream.StreamConfig{
		Name: testenv.Stream, Subjects: subjects, Metadata: map[string]string{"log_id": "a", "partitions": "8", "format": "2"},
	})
	require.NoError(t, err)
	f.env = []string{"NATS_URL=" + f.URL, "DATA_DIR=" + t.TempDir(), "DATABASE_URL=" + testenv.Database(t), "PROVIDER_WEBHOOK_SECRET=" + secret}
	return f
}

// append appends an event as ingest does; again appends it without the broker's window.
func (f *forgetful) append(t *testing.T, body string, again bool) (seq uint64) {
	t.Helper()
	event, err := specification.Parse([]byte(body))
	require.NoError(t, err)
	signer := specification.NewSecret(secret)
	m := wire.New(events.Delivery{
		Event: event, Body: []byte(body), Provider: event.Provider, Signature: specification.Sign(signer, []byte(body)),
		KeyFingerprint: signer.Fingerprint(), ReceivedAt: time.Now(),
	}, testenv.Stream, 8)
	if again {
		m.Header.Set("Payfold-Event-Id", event.ID)
		m.Header.Set("Payfold-Stored-At", time.Now().UTC().Format(time.RFC3339Nano))
		m.Header.Del(events.HeaderID)
	}
	ack, err := f.JetStream.PublishMsg(t.Context(), m)
	require.NoError(t, err)
	return ack.Sequence
}

// projector runs a command, which must end with that status.
func (f *forgetful) projector(t *testing.T, status int, archive string, args ...string) string {
	t.Helper()
	p := f.start(t, archive, args...)
	require.Equal(t, status, p.Exit(t), p.Output())
	return p.Output()
}

func (f *forgetful) start(t *testing.T, archive string, args ...string) *testenv.Program {
	t.Helper()
	return testenv.Start(t, "projector", append(f.env, "ARCHIVE_URL="+archive), args...)
}

// archive archives everything, with some messages in a segment.
func (f *forgetful) archive(t *testing.T, place storage.Place) {
	t.Helper()
	archiver.RunToEnd(t, archive.Config{Place: place, Source: f.Log(t), SegmentBytes: 64 << 10, FrameBytes: 8 << 10}, nil)
}

// The server has forgotten most of the log. With the archive no reader notices.
func TestRebuildVerifyAndExplainReadTheArchive(t *testing.T) {
	t.Parallel()
	f := newForgetful(t)
	for i := range 200 {
		f.append(t, testenv.ShopEvent(i), false)
	}
	last := f.append(t, testenv.ShopEvent(3), true)
	place := &storage.Folder{Root: t.TempDir()}
	f.archive(t, place)
	for i := range 20 {
		f.append(t, testenv.ShopEvent(200+i), false)
	}
	testenv.Promote(t, func() *testenv.Program { return f.start(t, storage.None, "rebuild", "--promote") })
	event, err := specification.Parse([]byte(testenv.ShopEvent(3)))
	require.NoError(t, err)
	questions := [][]string{{"explain", event.ID}, {"explain", "--seq", fmt.Sprint(last)}, {"explain", "--json", event.ID}}
	var answers []string
	for _, question := range questions {
		answers = append(answers, f.projector(t, 0, storage.None, question...))
	}
	verify := func(archive string) string { // without lines about its progress
		lines := strings.Split(strings.TrimSpace(f.projector(t, 0, archive, "verify", "--strict")), "\n")
		return lines[len(lines)-1]
	}
	verdict := verify(storage.None)

	require.NoError(t, f.stream.Purge(t.Context(), jetstream.WithPurgeSequence(last+1)))
	for i, question := range questions {
		require.Equal(t, answers[i], f.projector(t, 0, place.Root, question...))
	}
	require.Equal(t, verdict, verify(place.Root))
	f.projector(t, 0, place.Root, "rebuild", "--schema", "again")
	require.Equal(t, verdict, verify(place.Root))
	for _, table := range tables.NameList() {
		require.Zero(t, mustQuery[int64](t, f.env[2][len("DATABASE_URL="):], fmt.Sprintf(
			"select count(*) from (table portal.%[1]s except table again.%[1]s union all table again.%[1]s except table portal.%[1]s) as d", table)), table)
	}
	lost := fmt.Sprintf("seq 1 to %d cannot be read: the log's server has only those from seq %d on", last, last+1)
	require.Contains(t, f.projector(t, 1, storage.None, "verify"), lost)
	require.Contains(t, f.projector(t, 1, t.TempDir(), "rebuild", "--schema", "third"), lost)
}
