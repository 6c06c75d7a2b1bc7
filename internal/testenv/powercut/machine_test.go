//go:build powercut

package powercut_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/archive/storage"
	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/powercut"
	"github.com/payfold/payfold/internal/testenv/wait"
)

const secret = "whsec_0123456789abcdef"

// counts are the sums of a campaign, for its log.
type counts struct{ cuts, cutsAtStart, confirmed, read, checks, found, blocks, setAside, archived, trimmed int }

// machine runs the real ingest on a disk.
type machine struct {
	*world
	t       *testing.T
	random  *rand.Rand
	dir     string
	disk    *powercut.Disk
	ignored string // the disk ignores fsyncs of files with this suffix
	trims   bool   // ingest removes from the log what is archived
	unmount func() error
	ingest  *testenv.Program
	blocks  int // of the log at the last check
}

// blocksPerDisk bounds the memory that a disk takes: a block has 8 MB.
const blocksPerDisk = 20

func newMachine(t *testing.T, random *rand.Rand) *machine {
	m := &machine{
		world: newWorld(&testenv.Provider{Secret: secret, Client: &http.Client{Timeout: 10 * time.Second}}, random.Uint64()),
		t:     t, random: random, dir: t.TempDir(), disk: powercut.New(), trims: random.IntN(2) == 0,
	}
	if m.trims { // only whole blocks are removed
		m.large, m.again = 60, 2
	}
	m.mount()
	t.Cleanup(m.powerOff)
	return m
}

func (m *machine) mount() {
	var err error
	m.unmount, err = m.disk.Mount(m.dir)
	require.NoError(m.t, err)
}

func (m *machine) data() string { return filepath.Join(m.dir, "data") }

// powerOff kills ingest and unmounts the disk.
func (m *machine) powerOff() {
	if m.ingest != nil {
		m.ingest.Kill()
	}
	m.provider.Client.CloseIdleConnections()
	if m.unmount != nil {
		require.NoError(m.t, m.unmount())
		m.unmount = nil
	}
}

// kept has more than the events that shops deliver again: after a start the server knows only what
// it keeps as duplicates.
const kept = "LOG_KEEP=60"

// start starts ingest and waits until it receives deliveries. The error has the output of
// ingest.
func (m *machine) start(cut <-chan struct{}) error {
	env := []string{
		"DATA_DIR=" + m.data(), "LISTEN_ADDR=127.0.0.1:0", "EMBEDDED_NATS_ADDR=127.0.0.1:0", "ADMIN_ADDR=127.0.0.1:0",
		"PROVIDER_WEBHOOK_SECRET=" + secret, "PUBLISH_TIMEOUT=1s", "ARCHIVE_INTERVAL=100ms",
	}
	if m.trims {
		env = append(env, kept)
	}
	m.ingest = testenv.Start(m.t, "ingest", env)
	ctx, cancel := context.WithTimeout(m.t.Context(), wait.Timeout)
	defer cancel()
	go func() {
		select {
		case <-cut:
			cancel()
		case <-ctx.Done():
		}
	}()
	line, err := m.ingest.Await(ctx, `msg="receiving deliveries" listen_addr=`)
	if err != nil {
		return fmt.Errorf("start ingest: %w\n%s", err, m.ingest.Output())
	}
	address, _, _ := strings.Cut(line, " ")
	m.provider.URL = "http://" + address + "/api/payments/provider/webhook"
	return nil
}

// createLog starts and stops ingest, so that its empty log is durable.
func (m *machine) createLog() {
	require.NoError(m.t, m.start(nil))
	m.ingest.Signal(syscall.SIGTERM)
	require.Zero(m.t, m.ingest.Exit(m.t))
}

// runUntilCut starts ingest, checks the log, and cuts the power under load. Sometimes it cuts
// the power earlier.
func (m *machine) runUntilCut(total *counts) error {
	var cut <-chan struct{}
	if early := m.random.IntN(5) == 0; early {
		cut = m.disk.CutAfter(int64(1 + m.random.IntN(100)))
	}
	if err := m.start(cut); err != nil {
		if !closed(cut) {
			return err
		}
		total.cutsAtStart++
		m.restoreDisk(total)
		return nil
	}
	if err := m.check(total); err != nil && !closed(cut) {
		return err
	}
	if cut == nil {
		cut = m.disk.CutAfter(m.randomChanges())
	}
	err := m.loadUntil(cut)
	m.restoreDisk(total)
	return err
}

// randomChanges returns 1 to 3,000, or to 1,500 where bodies are large. Each order of
// magnitude is equally likely.
func (m *machine) randomChanges() int64 {
	limit := 3000.0
	if m.large > 1 {
		limit = 1500
	}
	return int64(math.Exp(m.random.Float64() * math.Log(limit)))
}

func closed(signal <-chan struct{}) bool {
	select {
	case <-signal:
		return signal != nil
	default:
		return false
	}
}

// restoreDisk mounts what the disk kept after a cut.
func (m *machine) restoreDisk(total *counts) {
	m.powerOff()
	total.cuts++
	m.disk = m.disk.Survivor(m.random)
	m.disk.IgnoreSyncs(m.ignored)
	m.mount()
}

// restartAndCheck starts ingest once more and checks the log.
func (m *machine) restartAndCheck(total *counts) error {
	if err := m.start(nil); err != nil {
		return err
	}
	total.confirmed += len(m.confirmed)
	total.read += len(m.read)
	return m.check(total)
}

func (m *machine) archive() storage.Place {
	place, err := storage.Settings{URL: filepath.Join(m.data(), "archive")}.Place()
	require.NoError(m.t, err)
	return place
}

// connect connects as a projector does. place is nil if it reads only the server.
func (m *machine) connect(place storage.Place) *eventlog.Log {
	log, err := eventlog.Connect(eventlog.Config{DataDir: m.data(), Stream: testenv.Stream, Archive: place, Logger: testenv.Logger(m.t)})
	require.NoError(m.t, err)
	return log
}

var errEnough = errors.New("enough")

// check reads the whole log as a projector does, and compares it with what was confirmed
// and read.
func (m *machine) check(total *counts) error {
	aside, err := filepath.Glob(filepath.Join(m.data(), "log", "unconfirmed-*"))
	require.NoError(m.t, err)
	blocks, err := filepath.Glob(filepath.Join(m.data(), "log/jetstream/PAYFOLD/streams", testenv.Stream, "msgs/*.blk"))
	require.NoError(m.t, err)
	total.setAside, total.blocks = max(total.setAside, len(aside)), max(total.blocks, len(blocks))
	m.blocks = len(blocks)
	log := m.connect(nil)
	defer log.Close()
	ctx, cancel := context.WithTimeout(m.t.Context(), wait.Timeout)
	defer cancel()
	info, err := log.Info(ctx)
	for errors.Is(err, eventlog.ErrDisconnected) && ctx.Err() == nil {
		info, err = log.Info(ctx)
	}
	if err != nil {
		return fmt.Errorf("reach the log: %w", err)
	}
	found := map[string]uint64{}
	total.trimmed += int(info.ServerFirst - 1)
	if info.Last > 0 {
		all := log
		if m.trims {
			all = m.connect(m.archive())
			defer all.Close()
			if _, err := all.AwaitInfo(ctx, wait.Timeout); err != nil {
				return err
			}
		}
		next := uint64(1)
		take := func(message events.Message, _ string) error {
			if err := m.checkMessage(message); err != nil {
				return err
			}
			found[message.ID] = message.Seq
			if next++; message.Seq == info.Last {
				return errEnough
			}
			return nil
		}
		for err = all.Read(ctx, next, take); errors.Is(err, eventlog.ErrDisconnected) && ctx.Err() == nil; {
			err = all.Read(ctx, next, take) // as projectors do, also after a trim
		}
		if !errors.Is(err, errEnough) {
			return fmt.Errorf("read the log of %d messages: %w", info.Last, err)
		}
	}
	total.checks++
	total.found += len(found)
	return errors.Join(m.checkComplete(found), m.checkArchive(ctx, log, total))
}

// checkArchive: what the archive holds is whole, and in the log.
func (m *machine) checkArchive(ctx context.Context, log *eventlog.Log, total *counts) error {
	place := m.archive()
	status, err := archive.Inspect(ctx, place, source{log})
	if err != nil {
		return fmt.Errorf("read the archive: %w", err)
	}
	if len(status.Faults) > 0 {
		return fmt.Errorf("the archive: %q", status.Faults)
	}
	total.archived += int(status.Last)
	opened, err := archive.Open(ctx, place, status.LogID)
	if err != nil {
		return err
	}
	var faults []error
	err = opened.Check(ctx, func(fault error) { faults = append(faults, fault) })
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // ingest may have merged segments meanwhile
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}

// source is the log, as the archive compares itself with it.
type source struct{ *eventlog.Log }

func (s source) Head(ctx context.Context) (archive.Head, error) {
	info, err := s.Info(ctx)
	return archive.Head{LogID: info.LogID, Partitions: info.Partitions, Begin: info.First, First: info.ServerFirst, Last: info.Last}, err
}
