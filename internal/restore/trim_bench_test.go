package restore_test

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/restore"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/specification"
)

// BenchmarkTrim archives a log of EVENTS (200,000) events and trims it to a tenth. It prints what
// that takes, what is left on the disk, and how long the log takes to open after a kill: whole,
// trimmed, and beside it a log that never had more than that tenth. Then the log is lost, restored
// from the archive, and compared with it.
func BenchmarkTrim(b *testing.B) {
	count := testenv.Number(b, "EVENTS", 200_000)
	for b.Loop() {
		made := b.TempDir()
		archiveFor(b, filepath.Join(made, "all"), &generated{events: count})
		archiveFor(b, filepath.Join(made, "tenth"), &generated{events: count / 10})
		dir, short := filepath.Join(b.TempDir(), "data"), filepath.Join(b.TempDir(), "data")
		fmt.Printf("a log of %d events\n", count)
		restoreFrom(b, filepath.Join(made, "all"), dir)
		restoreFrom(b, filepath.Join(made, "tenth"), short)
		whole := opened(b, dir, func(log *eventlog.Log) {
			archiveFor(b, filepath.Join(dir, "archive"), log)
		})
		before := size(b, filepath.Join(dir, "log"))
		opened(b, dir, func(log *eventlog.Log) { trimTo(b, filepath.Join(dir, "archive"), log, uint64(count/10)) })
		trimmed, alone := opened(b, dir, nil), opened(b, short, nil)
		fmt.Printf("disk of the log: %d MB whole, %d MB trimmed, %d MB for a log of the tenth; its archive: %d MB\n",
			before>>20, size(b, filepath.Join(dir, "log"))>>20, size(b, filepath.Join(short, "log"))>>20, size(b, filepath.Join(dir, "archive"))>>20)
		fmt.Printf("open after a kill: whole %.1f s, trimmed %.1f s, a log of the tenth %.1f s\n", whole.Seconds(), trimmed.Seconds(), alone.Seconds())
		require.NoError(b, os.RemoveAll(filepath.Join(dir, "log")))
		restoreFrom(b, filepath.Join(dir, "archive"), dir)
		opened(b, dir, func(log *eventlog.Log) { checkAgainst(b, filepath.Join(dir, "archive"), log) })
	}
}

// timed prints what do takes.
func timed(what string, events int, do func()) {
	began := time.Now()
	do()
	took := time.Since(began)
	fmt.Printf("%s: %.1f s, %.0f events/s\n", what, took.Seconds(), float64(events)/took.Seconds())
}

func restoreFrom(b *testing.B, path, dir string) {
	c := config(placeAt(b, path))
	c.Stream.Trimmable = true
	var result restore.Result
	began := time.Now()
	result, err := restore.Embedded(b.Context(), c, dir, slog.New(slog.DiscardHandler))
	require.NoError(b, err)
	fmt.Printf("restored, read back and compared: %.1f s, %.0f events/s\n", time.Since(began).Seconds(), float64(result.Last)/time.Since(began).Seconds())
}

// opened measures how long a log takes to open whose server has no index, as after a kill.
func opened(b *testing.B, dir string, use func(log *eventlog.Log)) time.Duration {
	err := os.Remove(filepath.Join(dir, "log", "jetstream", "PAYFOLD", "streams", testenv.Stream, "msgs", "index.db"))
	require.True(b, err == nil || os.IsNotExist(err))
	began := time.Now()
	logger := slog.New(slog.DiscardHandler)
	server, err := eventlog.StartEmbedded(b.Context(), eventlog.EmbeddedConfig{DataDir: dir, Stream: testenv.Stream, Logger: logger})
	require.NoError(b, err)
	log, err := server.Connect()
	require.NoError(b, err)
	require.NoError(b, log.Ready(b.Context()))
	took := time.Since(began)
	if use != nil {
		use(log)
	}
	log.Close()
	require.NoError(b, server.Close())
	return took
}

// archiveFor archives all of a log.
func archiveFor(b *testing.B, path string, source archive.Source) {
	head, err := source.Head(b.Context())
	require.NoError(b, err)
	timed("archived", int(head.Last), func() {
		archiver := archive.NewArchiver(archive.Config{
			Place: placeAt(b, path), Source: source, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
			PollInterval: 10 * time.Millisecond,
		})
		runUntil(b, archiver.Run, func() bool {
			opened, err := archive.Open(b.Context(), placeAt(b, path), head.LogID)
			return err == nil && opened.Last() == head.Last
		})
	})
}

func trimTo(b *testing.B, path string, log *eventlog.Log, keep uint64) {
	head, err := log.Head(b.Context())
	require.NoError(b, err)
	timed("read back, compared and trimmed", int(head.Last-keep), func() {
		trimmer := archive.NewTrimmer(archive.TrimConfig{
			Place: placeAt(b, path), Log: log, Keep: archive.Keep{Messages: keep}, Interval: 10 * time.Millisecond,
			Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
		})
		const segment = 64 << 20 // at most so much more is kept, and a file of the server
		least := head.Last - keep - min(head.Last-keep, 2*segment*head.Last/max(head.Bytes, 1))
		runUntil(b, trimmer.Run, func() bool {
			head, err := log.Head(b.Context())
			return err == nil && head.First > least
		})
	})
}

func checkAgainst(b *testing.B, path string, log *eventlog.Log) {
	info, err := log.Info(b.Context())
	require.NoError(b, err)
	timed("every byte of log and archive compared", int(info.Last), func() {
		checked, err := archive.CheckAgainst(b.Context(), placeAt(b, path), info.LogID, log, true)
		require.NoError(b, err)
		require.Empty(b, checked.Faults)
		require.Equal(b, info.Last, checked.Last)
	})
}

// runUntil runs something until done. There is no limit: a log can have any length.
func runUntil(b *testing.B, run func(context.Context) error, done func() bool) {
	ctx, stop := context.WithCancel(b.Context())
	var group errgroup.Group
	group.Go(func() error { return run(ctx) })
	for !done() {
		time.Sleep(50 * time.Millisecond)
	}
	stop()
	require.NoError(b, group.Wait())
}

// size is that of all files in a folder.
func size(b *testing.B, folder string) (bytes int64) {
	require.NoError(b, filepath.WalkDir(folder, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		bytes += info.Size()
		return err
	}))
	return bytes
}

// generated is a log that is made while it is read.
type generated struct{ events int }

const generatedID = "00000000000000000000000000000000"

func (g *generated) Head(context.Context) (archive.Head, error) {
	return archive.Head{LogID: generatedID, Partitions: 64, Begin: 1, First: 1, Last: uint64(g.events), Bytes: uint64(g.events) * 1700}, nil
}

func (g *generated) ReadRecords(ctx context.Context, from, until uint64, deliver func(archive.Record) error) error {
	signer, customers := specification.NewSecret("a secret of the benchmark"), testenv.Customers(10_000)
	stored := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for seq := from; seq <= until && ctx.Err() == nil; seq++ {
		body := []byte(customers.Event(int(seq - 1)))
		event, err := specification.Parse(body)
		if err != nil {
			return err
		}
		at := stored.Add(time.Duration(seq) * time.Millisecond)
		err = deliver(archive.Record{
			Seq: seq, Partition: event.Partition(64), StoredAt: at, Body: body,
			Header: []events.Header{
				{Name: "Nats-Msg-Id", Value: event.ID},
				{Name: "Payfold-Key", Value: signer.Fingerprint()},
				{Name: "Payfold-Received-At", Value: at.Format(time.RFC3339Nano)},
				{Name: "Payfold-Signature", Value: specification.Sign(signer, body)},
			},
		})
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}
