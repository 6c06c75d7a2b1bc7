package logreport

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/webhook"
)

func TestTheStateOfARunningIngestIsShown(t *testing.T) {
	t.Parallel()
	now := stored.Add(90 * time.Second)
	minute := func(ago int, answers map[string]uint64) webhook.Minute {
		return webhook.Minute{Begin: now.Truncate(time.Minute).Add(-time.Duration(ago) * time.Minute), Answers: answers}
	}
	info := eventlog.Info{
		LogID: "kq3f", Partitions: 64, First: 1, Last: 900, StoredAt: stored, ServerFirst: 1, Messages: 900, Bytes: 70_000,
		Replicas: 1, Current: 1, Durability: eventlog.Fsynced,
	}
	ready := Ingest{
		At: now, Version: "v1.4.0", StartedAt: now.Add(-time.Hour), Log: ServerLogOf(info), Archive: &archive.State{Archive: "/srv/archive", LookedAt: now},
		Answers: []webhook.Minute{
			minute(59, map[string]uint64{"accepted": 2}), minute(14, map[string]uint64{"accepted": 7}), minute(5, map[string]uint64{"accepted": 20}), minute(4, map[string]uint64{"accepted": 5, "unauthorized": 1}),
			minute(1, map[string]uint64{"accepted": 40}), minute(0, map[string]uint64{"accepted": 3, "duplicate": 1}),
		},
	}
	trimmed := info
	trimmed.ServerFirst, trimmed.Messages, trimmed.Replicas, trimmed.Current, trimmed.Durability = 701, 200, 3, 2, eventlog.Quorum
	behind := ready
	behind.Log = ServerLogOf(trimmed)
	behind.Archive = &archive.State{Archive: "s3://bucket/prefix", LookedAt: now, LagMessages: 12, LagSeconds: 34.56, Damaged: 2, LastError: "the store is away \x1b[2J"}
	behind.Damage = []string{"/data/log/2.blk at byte 1227: seq 28: \x1b[2J", "server nats-2: seq 8: the log skips from seq 7 to 9"}
	silent := ready
	silent.Archive = &archive.State{Archive: "/srv/archive", LookedAt: now.Add(-time.Hour), LagSeconds: 3600, LastError: "the archive does not answer, or is slow: it was asked at 2021-03-01T11:01:30Z"}
	contradicts := ready
	contradicts.NotReady = "the stream does not keep every event as it is for ever: max_msgs is 1, must be -1"
	contradicts.Archive = &archive.State{Archive: "/srv/archive", Contradicts: true, LastError: "the archive contradicts the log: it holds seq 20"}
	contradicts.Answers = nil
	empty := ready
	empty.Log, empty.Archive, empty.Answers = ServerLogOf(eventlog.Info{LogID: "kq3f", Partitions: 64, First: 1, ServerFirst: 1, Replicas: 1, Current: 1, Durability: eventlog.OneServer}), nil, nil
	for file, state := range map[string]Ingest{
		"ingest_ready": ready, "ingest_behind": behind, "ingest_silent": silent, "ingest_contradicts": contradicts, "ingest_empty": empty,
		"ingest_starting": {At: now, Version: "v1.4.0", StartedAt: now.Add(-8 * time.Second), NotReady: "checking the log before it is opened: 12 of 80 blocks"},
	} {
		requireGolden(t, file, state.Write)
	}
}

func TestTheTimeUntilAProviderGivesUpIsShown(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	require.NoError(t, Ingest{GivesUp: map[string]float64{"stripe": 0, "creem": 15_120}}.Write(&text, false))
	require.Contains(t, text.String(), "creem stops repeating a delivery that was not stored in 4h12m0s\n"+
		"stripe has stopped repeating a delivery that was not stored: have it send its events again\n")
}
