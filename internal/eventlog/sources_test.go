package eventlog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/archive/storage"
	"github.com/payfold/payfold/internal/eventlog/blockstore"
	"github.com/payfold/payfold/internal/events"
)

func TestWhatTheServerNoLongerHasIsReadFromTheArchive(t *testing.T) {
	t.Parallel()
	s := newSources(t, 100)
	s.archive(t, s.log)
	s.add(t, 101, 130)
	want := fromServer(t, s.log, 1, 130)
	records := func(l *Log) (out []archive.Record) {
		require.NoError(t, l.ReadRecords(t.Context(), 1, 130, func(r archive.Record) error {
			r.Header, r.Body = slices.Clone(r.Header), bytes.Clone(r.Body)
			out = append(out, r)
			return nil
		}))
		return out
	}
	wantRecords := records(s.log)
	l, said := s.reader(t, s.place)
	for _, first := range []uint64{1, 40, 90, 101} {
		s.forget(t, first)
		info, err := l.Info(t.Context())
		require.NoError(t, err)
		require.Equal(t, []uint64{1, first, 130}, []uint64{info.First, info.ServerFirst, info.Last})
		require.Equal(t, want, all(t, l, 1))
		require.Equal(t, want[70:95], must(collectRange(t, l.ReadUntil, 71, 95)))
		require.Equal(t, wantRecords, records(l))
		for _, seq := range []uint64{1, 89, 100, 130} {
			m, err := l.Message(t.Context(), seq)
			require.NoError(t, err)
			m.Body = m.Digest()
			require.Equal(t, want[seq-1], m)
		}
		seq, err := l.StoredBy(t.Context(), info, want[4].StoredAt)
		require.NoError(t, err)
		require.GreaterOrEqual(t, seq, uint64(5))
		var followed []events.Message
		enough := errors.New("enough")
		require.ErrorIs(t, l.Read(t.Context(), 3, func(m events.Message, _ string) error {
			m.Body = m.Digest()
			if followed = append(followed, m); m.Seq == 130 {
				return enough
			}
			return nil
		}), enough)
		require.Equal(t, want[2:], followed)
	}
	require.Empty(t, said())
	s.forget(t, 111)
	_, err := collectRange(t, l.ReadUntil, 1, 130)
	require.ErrorContains(t, err, "seq 101 to 110 cannot be read: the log's server has only those from seq 111 on")
	_, err = l.Message(t.Context(), 105)
	require.ErrorContains(t, err, "seq 105 to 105 cannot be read")
	_, err = l.StoredBy(t.Context(), must(l.Info(t.Context())), want[104].StoredAt)
	require.ErrorContains(t, err, "cannot be read")
	_, err = collectRange(t, reader(t, s.dir).ReadUntil, 1, 130)
	require.ErrorContains(t, err, "seq 1 to 110 cannot be read")
}

// What is above or below a damaged end is still read from the archive.
func TestAnArchiveWithADamagedEndIsRead(t *testing.T) {
	t.Parallel()
	s := newSources(t, 60)
	s.archive(t, s.log)
	want := fromServer(t, s.log, 1, 60)
	segments := s.segments(t)
	edit(t, segments[len(segments)-1], func(b []byte) []byte {
		footer := int(binary.LittleEndian.Uint32(b[len(b)-12:])) // its length
		b[len(b)-footer-5] ^= 1                                  // in the newest frame
		return b
	})
	s.forget(t, 40)
	l, said := s.reader(t, s.place)
	require.Equal(t, want[:39], must(collectRange(t, l.ReadUntil, 1, 39)))
	require.Empty(t, said())
}

// A reader may have been told of an archive before anything is in it.
func TestAnEmptyArchiveIsNoArchive(t *testing.T) {
	t.Parallel()
	s := newSources(t, 5)
	l, said := s.reader(t, s.place)
	require.Equal(t, fromServer(t, s.log, 1, 5), all(t, l, 1))
	require.Empty(t, said())
}

// The server's files need not be readable where there is an archive.
func TestWithAnArchiveTheServersFilesAreNotRead(t *testing.T) {
	t.Parallel()
	s := newSources(t, 60)
	s.archive(t, s.log)
	s.add(t, 61, 70)
	want := fromServer(t, s.log, 1, 70)
	l, said := s.reader(t, s.place)
	l.files = s.damagedFiles(t, damageHeader)
	require.Equal(t, want, all(t, l, 1))
	require.Empty(t, said())
	l.archive = nil
	_, err := collectRange(t, l.ReadUntil, 1, 70)
	require.ErrorIs(t, err, blockstore.ErrDamaged)
}

// Many messages that are not archived yet cost the server nothing.
func TestALongRestIsReadFromTheFiles(t *testing.T) {
	t.Parallel()
	s, want := withLongRest(t)
	l, said := s.reader(t, s.place)
	read := func() (fromServer uint64) {
		before := l.conn.Stats().InBytes
		require.Equal(t, want, all(t, l, 1))
		return l.conn.Stats().InBytes - before
	}
	whole := read()
	l.files = s.damagedFiles(t, func(b []byte) []byte { b[len(b)-len(b)/4] ^= 4; return b })
	require.Greater(t, read(), 4*whole)
	require.Empty(t, said())
}

// The files of a rest may begin with messages that the archive has, whose damage is of no matter.
func TestDamageBeforeALongRestIsNotRead(t *testing.T) {
	t.Parallel()
	s, want := withLongRest(t)
	l, said := s.reader(t, s.place)
	l.files = s.damagedFiles(t, damageHeader)
	require.Equal(t, want, all(t, l, 1))
	require.Empty(t, said())
}

func TestDamageOfTheArchiveIsReadAround(t *testing.T) {
	t.Parallel()
	s := newSources(t, 150)
	s.archive(t, s.log)
	s.add(t, 151, 160)
	want := fromServer(t, s.log, 1, 160)
	whole := s.place.Root
	require.Greater(t, len(s.segments(t)), 6)
	for name, spoil := range map[string]func(segments []string){
		"a bit of a frame":     func(segments []string) { edit(t, segments[2], func(b []byte) []byte { b[len(b)/3] ^= 1; return b }) },
		"a bit of the footer":  func(segments []string) { edit(t, segments[3], func(b []byte) []byte { b[len(b)-60] ^= 1; return b }) },
		"the end of a segment": func(segments []string) { edit(t, segments[2], func(b []byte) []byte { return b[:len(b)-20] }) },
		"a segment":            func(segments []string) { require.NoError(t, os.Remove(segments[3])) },
		"the first segment":    func(segments []string) { require.NoError(t, os.Remove(segments[0])) },
		"the newest frame": func(segments []string) {
			edit(t, segments[len(segments)-1], func(b []byte) []byte { b[200] ^= 1; return b })
		},
		"all but the first one": func(segments []string) { remove(t, segments[1:]) },
		"a segment and a frame": func(segments []string) {
			remove(t, segments[1:2])
			edit(t, segments[4], func(b []byte) []byte { b[250] ^= 1; return b })
		},
		"a segment of no length": func(segments []string) { edit(t, segments[2], func([]byte) []byte { return nil }) },
	} {
		s.place = &storage.Folder{Root: t.TempDir()}
		require.NoError(t, os.CopyFS(s.place.Root, os.DirFS(whole)))
		l, said := s.reader(t, s.place)
		l.files = nil
		require.Equal(t, want, all(t, l, 1), name)
		require.Empty(t, said(), name)
		spoil(s.segments(t))
		l, said = s.reader(t, s.place)
		l.files = nil
		require.Equal(t, want, all(t, l, 1), name)
		if name != "all but the first one" {
			require.Contains(t, said(), "the archive cannot be read; the log's server is asked instead", name)
		}
		lines := strings.Count(said(), "\n")
		require.LessOrEqual(t, lines, 2, said())
		require.Equal(t, want, all(t, l, 1), name)
		if lines == 1 {
			require.Equal(t, 1, strings.Count(said(), "\n"), "it is said once")
		}
	}
	// The damage is fatal only if the server does not have the messages either. What lies behind
	// it is still read.
	s.place = &storage.Folder{Root: whole}
	segments := s.segments(t)
	edit(t, segments[2], func(b []byte) []byte { b[len(b)/3] ^= 1; return b })
	s.forget(t, 100)
	l, _ := s.reader(t, s.place)
	first := uint64(0)
	_, err := collectRange(t, l.ReadUntil, 1, 160)
	require.ErrorContains(t, err, "cannot be read: the log's server has only those from seq 100 on")
	damaged := new(archive.DamagedError)
	require.ErrorAs(t, err, &damaged)
	require.ErrorContains(t, err, fmt.Sprintf("seq %d to %d", damaged.From, damaged.To))
	first = damaged.To + 1
	require.Equal(t, want[first-1:], all(t, l, first))
}

// A reader that runs for long sees what is archived later, and what was merged.
func TestReadersSeeTheArchiveGrow(t *testing.T) {
	t.Parallel()
	s := newSources(t, 1)
	s.archive(t, s.log)
	l, said := s.reader(t, s.place)
	var want []events.Message
	for to := 40; to <= 160; to += 40 {
		s.add(t, len(want)+2-min(1, len(want)), to)
		last := s.info(t).Last
		want = append(want, fromServer(t, s.log, uint64(len(want))+1, last)...)
		s.archive(t, s.log)
		s.forget(t, last+1)
		var readers errgroup.Group
		for range 4 {
			readers.Go(func() error {
				got, err := collectRange(t, l.ReadUntil, 1, last)
				if err == nil && len(got) != len(want) {
					err = fmt.Errorf("%d messages of %d", len(got), len(want))
				}
				return err
			})
		}
		require.NoError(t, readers.Wait())
		require.Equal(t, want, all(t, l, 1))
	}
	require.Empty(t, said())
}
