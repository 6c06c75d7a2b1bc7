package logreport

import (
	"bytes"
	"encoding/json"
	"io"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/check"
	"github.com/payfold/payfold/internal/eventlog/blockstore"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/fingerprint"
	"github.com/payfold/payfold/internal/proof"
	"github.com/payfold/payfold/internal/restore"
	"github.com/payfold/payfold/internal/testenv/golden"
)

// stored is when the newest message of these logs was stored.
var stored = time.Date(2021, 3, 1, 12, 0, 0, 123456789, time.UTC)

// requireGolden compares text and JSON with golden files.
func requireGolden(t *testing.T, file string, write func(w io.Writer, asJSON bool) error) {
	t.Helper()
	var text, object, indented bytes.Buffer
	require.NoError(t, write(&text, false))
	golden.Require(t, filepath.Join("testdata", file+".txt"), text.Bytes())
	require.NoError(t, write(&object, true))
	require.Equal(t, 1, bytes.Count(object.Bytes(), []byte("\n")), "one object on one line")
	require.NoError(t, json.Indent(&indented, object.Bytes(), "", "  "))
	golden.Require(t, filepath.Join("testdata", file+".json"), indented.Bytes())
}

func TestWhatAnArchiveHoldsIsShown(t *testing.T) {
	t.Parallel()
	whole := archive.Status{
		Archive: "/srv/archive", LogID: "kq3f", Segments: 3, Bytes: 4_096, First: 1, Last: 900, StoredTo: stored, Root: "00ff",
	}
	behind, away, damaged, one := whole, whole, whole, whole
	one.Segments, one.LagMessages, one.LagSeconds = 1, 1, 2
	behind.LagMessages, behind.LagSeconds = 12, 34.56
	away.LogError = "not connected to the log"
	damaged.Faults = []string{
		"segment kq3f/00000000000000000301.seg: the checksum of its footer is wrong",
		"/srv/archive also holds segments of log \x1b[2J",
	}
	for file, status := range map[string]archive.Status{
		"archive_whole": whole, "archive_behind": behind, "archive_without_log": away, "archive_damaged": damaged, "archive_one": one,
		"archive_empty":  {Archive: "s3://bucket/prefix", LogID: "kq3f", LagMessages: 5, LagSeconds: 1},
		"archive_no_log": {Archive: "s3://bucket/prefix", LogError: "not connected to the log"},
	} {
		requireGolden(t, file, func(w io.Writer, asJSON bool) error { return Archive(w, &status, asJSON) })
	}
}

func TestTheStateOfTheLogsFilesIsShown(t *testing.T) {
	t.Parallel()
	durable := uint64(900)
	whole := blockstore.Report{Stream: "PAYMENTS", LogID: "kq3f", First: 1, Last: 900, Events: 900, Blocks: 2, Bytes: 70_000, Durable: &durable}
	torn, damaged, restoring, one := whole, whole, whole, whole
	one.Last, one.Events, one.Blocks = 1, 1, 1
	restoring.Restoring = true
	torn.TornTail = &blockstore.Tail{File: "3.blk", Offset: 100, Bytes: 20, Newer: []string{"4.blk"}}
	damaged.Events = 890
	damaged.Damage = []blockstore.Damage{
		{File: "2.blk", Offset: 40, Bytes: 60, From: 500, To: 509, Reason: "the checksum is wrong", Advice: "restore the log from a backup"},
		{File: "5.blk", From: 880, Reason: "the file is missing", Advice: "something else"},
	}
	for file, result := range map[string]check.Result{
		"files_whole":    {Report: &whole, Whole: true},
		"files_one":      {Report: &one, Whole: true, Salvaged: 1, SalvagedTo: "saved.jsonl"},
		"files_torn":     {Report: &torn, Whole: true, Running: true},
		"files_damaged":  {Report: &damaged},
		"files_salvaged": {Report: &damaged, Salvaged: 890, SalvagedTo: "saved.jsonl"},
		"files_empty":    {Report: &blockstore.Report{Stream: "PAYMENTS", LogID: "kq3f", First: 1}, Whole: true, Running: true},
		"files_archive": {Report: &whole, Whole: true, Archive: &archive.Checked{
			Archive: "/srv/archive", Full: true, Compared: archive.Compared{First: 1, Last: 800, Segments: 3, Root: "00ff"},
		}},
		"files_archive_damaged": {Report: &damaged, Archive: &archive.Checked{Archive: "/srv/archive", Faults: []string{"the archive lacks seq 4 to 6"}}},
		"files_archive_partly": {Report: &whole, Archive: &archive.Checked{
			Archive: "/srv/archive", Full: true, Faults: []string{"segment 00000000000000000401.seg is damaged in frame 1"},
			Compared: archive.Compared{First: 1, Last: 800, Segments: 3, Root: "00ff"},
		}},
		"files_archive_cluster": {Whole: true, Archive: &archive.Checked{Archive: "/srv/archive", Compared: archive.Compared{First: 1, Last: 800, Segments: 3, Root: "00ff"}}},
		"files_restoring":       {Report: &restoring, Whole: true},
		"files_no_log":          {Report: &blockstore.Report{Stream: "PAYMENTS"}, Whole: true},
	} {
		requireGolden(t, file, func(w io.Writer, asJSON bool) error { return Checked(w, result, asJSON) })
	}
}

func TestAProofThatHoldsIsShown(t *testing.T) {
	t.Parallel()
	m := events.Message{
		Seq: 7, ID: "evt_\x1b[2J_ü", Body: []byte(`{"id":1}`), ReceivedAt: stored.Add(-time.Second), StoredAt: stored,
		Provider: "polar", Signature: "ab<cd>", KeyFingerprint: "key \"1\"",
	}
	checkpoint := proof.Checkpoint{Origin: "shop.example/log", Size: 900, Root: fingerprint.Hash{1, 2, 3}, LogID: "kq3f", First: 1}
	requireGolden(t, "proof", func(w io.Writer, asJSON bool) error { return Proof(w, m, checkpoint, asJSON) })
	m.Source, m.Signed = "pulled\n", "msg_1.1763856000"
	requireGolden(t, "proof_pulled", func(w io.Writer, asJSON bool) error { return Proof(w, m, checkpoint, asJSON) })
}

func TestARestoreIsShown(t *testing.T) {
	t.Parallel()
	done := restore.Result{
		Archive: "/srv/archive", LogID: "kq3f", StoredTo: stored, Begun: 1, Seconds: 72.04,
		Compared: archive.Compared{First: 1, Last: 900, Segments: 3, Root: "00ff"},
	}
	continued := done
	continued.Begun, continued.LostUntil = 301, 907
	for file, drill := range map[string]bool{"restored": false, "restore_drill": true} {
		requireGolden(t, file, func(w io.Writer, asJSON bool) error { return Restored(w, done, drill, asJSON) })
	}
	requireGolden(t, "restored_continued", func(w io.Writer, asJSON bool) error { return Restored(w, continued, false, asJSON) })
}

func TestWhatWasHealedIsShown(t *testing.T) {
	t.Parallel()
	for file, result := range map[string]archive.HealResult{
		"healed_nothing": {Archive: "/srv/archive", LogID: "kq3f"},
		"healed": {Archive: "/srv/archive", LogID: "kq3f", Healed: []archive.Healed{
			{
				First: 301, Last: 600, Segments: []string{"301-600.seg"},
				Kept: []string{"301.seg.replaced-1", "401.seg.replaced-1"},
			},
			{First: 700, Last: 710, Segments: []string{"700-710.seg"}},
		}},
		"healed_in_part": {Archive: "/srv/archive", LogID: "kq3f", Left: []string{"seq 1 to 9 cannot be read, and the log has only seq 10 to 900"}},
	} {
		requireGolden(t, file, func(w io.Writer, asJSON bool) error { return HealedArchive(w, result, asJSON) })
	}
}
