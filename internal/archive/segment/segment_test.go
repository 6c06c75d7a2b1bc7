package segment

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/fingerprint"
)

// memory is an object in memory.
type memory struct{ *bytes.Reader }

func (memory) Close() error { return nil }

func anyRecords(t *rapid.T) []Record {
	first := rapid.Uint64Range(1, 1<<62).Draw(t, "first")
	headers := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) events.Header {
		return events.Header{Name: rapid.String().Draw(t, "name"), Value: rapid.String().Draw(t, "value")}
	}), 0, 4)
	out := make([]Record, rapid.IntRange(1, 20).Draw(t, "records"))
	for i := range out {
		header := headers.Draw(t, "header")
		slices.SortStableFunc(header, byName)
		out[i] = Record{
			Seq: first + uint64(i), Partition: rapid.IntRange(0, 1<<31-1).Draw(t, "partition"),
			StoredAt: time.Unix(0, rapid.Int64().Draw(t, "stored")).UTC(), Header: header,
			Body: rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "body"),
		}
	}
	return out
}

// written returns the bytes of a segment with small frames.
func written(t require.TestingT, frameBytes int, records []Record) ([]byte, Info) {
	var out bytes.Buffer
	w, err := NewWriter(&out, NewEncoder(), Start{
		LogID: "a log", Partitions: 64, First: records[0].Seq, Before: ChainStart("a log"), Tree: new(fingerprint.Tree),
	})
	require.NoError(t, err)
	w.FrameBytes = frameBytes
	for i := range records {
		require.NoError(t, w.Write(&records[i]))
	}
	info, err := w.Close()
	require.NoError(t, err)
	return out.Bytes(), info
}

func collect(s *Segment, from, until uint64) (out []Record, err error) {
	err = s.Read(context.Background(), from, until, func(r Record) error {
		r.Header, r.Body = slices.Clone(r.Header), bytes.Clone(r.Body)
		out = append(out, r)
		return nil
	})
	return out, err
}

func TestASegmentReturnsWhatWasWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		records := anyRecords(t)
		data, info := written(t, rapid.IntRange(1, 2000).Draw(t, "frame"), records)
		name := PartName(info.First)
		s, err := Open(name, memory{bytes.NewReader(data)})
		require.NoError(t, err)
		info.Name = name
		require.Equal(t, info.index, s.index)
		require.Equal(t, info.Root, s.Root)
		require.Equal(t, info.After, s.After)
		require.Equal(t, []any{"a log", 64, int64(len(data))}, []any{s.LogID, s.Partitions, s.Size})
		require.NoError(t, s.Check(context.Background(), new(fingerprint.Tree), nil))

		from := rapid.IntRange(0, len(records)-1).Draw(t, "from")
		until := rapid.IntRange(from, len(records)-1).Draw(t, "until")
		got, err := collect(s, records[from].Seq, records[until].Seq)
		require.NoError(t, err)
		requireEqual(t, records[from:until+1], got)
	})
}

func requireEqual(t require.TestingT, want, got []Record) {
	require.Len(t, got, len(want))
	for i, r := range want {
		require.Equal(t, r.Header, got[i].Header)
		require.True(t, bytes.Equal(r.Body, got[i].Body))
		require.Equal(t, []any{r.Seq, r.Partition, r.StoredAt}, []any{got[i].Seq, got[i].Partition, got[i].StoredAt})
	}
}

// ordinary returns records as ingest writes them.
func ordinary(first uint64, count int) (out []Record) {
	for i := range count {
		out = append(out, Record{
			Seq: first + uint64(i), Partition: i % 64, StoredAt: time.Unix(1_790_000_000+int64(i), 123456789).UTC(),
			Header: []events.Header{{Name: "Nats-Msg-Id", Value: "evt_" + string(rune('a'+i%26))}, {Name: "Payfold-Signature", Value: "ab12"}},
			Body:   bytes.Repeat([]byte{byte(i), '{', '}'}, 1+i%30),
		})
	}
	return out
}

// Every byte of a segment is covered: a change is found, by the name of the frame that holds it,
// and everything outside of that frame can still be read.
func TestAnyFlippedByteIsFoundAndNamed(t *testing.T) {
	t.Parallel()
	records := ordinary(100, 12)
	data, info := written(t, 200, records)
	require.Greater(t, len(info.index), 3)
	for at := range data {
		for _, bit := range []byte{1, 0x80} {
			damaged := bytes.Clone(data)
			damaged[at] ^= bit
			s, err := Open(PartName(100), memory{bytes.NewReader(damaged)})
			fault := new(DamagedError)
			frame := slices.IndexFunc(info.index, func(f frame) bool {
				return int64(at) >= f.offset-skippable-entryLength && int64(at) < f.offset+int64(f.compressed)
			})
			if frame < 0 {
				require.ErrorAs(t, err, &fault, "byte %d", at)
				require.Zero(t, fault.Frame)
				require.Contains(t, err.Error(), PartName(100))
				continue
			}
			require.NoError(t, err)
			require.ErrorAs(t, s.Check(context.Background(), nil, nil), &fault, "byte %d", at)
			f := info.index[frame]
			require.Equal(t, []any{frame + 1, f.first, f.last()}, []any{fault.Frame, fault.From, fault.To})
			if frame > 0 {
				_, err = collect(s, 100, f.first-1)
				require.NoError(t, err)
			}
			if frame+1 < len(info.index) {
				rest, err := collect(s, f.last()+1, info.Last)
				require.NoError(t, err)
				require.Len(t, rest, int(info.Last-f.last()))
			}
		}
	}
}

func TestASegmentThatIsCutAnywhereIsFound(t *testing.T) {
	t.Parallel()
	data, _ := written(t, 200, ordinary(1, 12))
	for length := range data {
		_, err := Open(PartName(1), memory{bytes.NewReader(data[:length])})
		require.ErrorAs(t, err, new(*DamagedError), "%d bytes", length)
	}
	_, err := Open(PartName(1), memory{bytes.NewReader(append(bytes.Clone(data), 0))})
	require.ErrorAs(t, err, new(*DamagedError))
	_, err = Open(PartName(2), memory{bytes.NewReader(data)})
	require.ErrorContains(t, err, "it holds seq 1 to 12")
	_, err = Open(MergedName(1, 13), memory{bytes.NewReader(data)})
	require.ErrorContains(t, err, "it holds seq 1 to 12")
}

// A writer with a mistake could leave whole segments with wrong records.
func TestRecordsThatTheFooterDoesNotNameAreFound(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w, err := NewWriter(&out, NewEncoder(), Start{LogID: "a log", Partitions: 64, First: 1, Tree: new(fingerprint.Tree)})
	require.NoError(t, err)
	records := ordinary(1, 3)
	require.NoError(t, w.Write(&records[0]))
	require.ErrorContains(t, w.Write(&records[2]), "seq 3 after seq 1")
	w.chain.Value[0] ^= 1
	_, err = w.Close()
	require.NoError(t, err)
	s, err := Open(PartName(1), memory{bytes.NewReader(out.Bytes())})
	require.NoError(t, err)
	require.ErrorContains(t, s.Check(context.Background(), nil, nil), "chain value")
	before := new(fingerprint.Tree)
	before.Append(fingerprint.Hash{})
	s.After = NewChain(s.Before).Value
	require.Error(t, s.Check(context.Background(), before, nil))
}

// docs/archive.md promises it.
func TestAnyDecompressorPrintsTheRecords(t *testing.T) {
	t.Parallel()
	records := ordinary(1, 12)
	data, _ := written(t, 200, records)
	decoder, err := zstd.NewReader(bytes.NewReader(data))
	require.NoError(t, err)
	defer decoder.Close()
	got, err := io.ReadAll(decoder)
	require.NoError(t, err)
	var want []byte
	for i := range records {
		want, err = appendRecord(want, &records[i])
		require.NoError(t, err)
	}
	require.Equal(t, want, got)
}

func TestARecordThatCannotBeArchivedIsRefused(t *testing.T) {
	t.Parallel()
	for _, r := range []Record{
		{Partition: -1},
		{Header: []events.Header{{Name: "b"}, {Name: "a"}}},
		{Header: []events.Header{{Name: string(make([]byte, 1<<16))}}},
		{Body: make([]byte, maxRecord)},
	} {
		_, err := appendRecord(nil, &r)
		require.Error(t, err)
	}
}

// A newer build may store bodies in another form. That is no damage, and nothing must be healed.
func TestABodyInAnotherFormIsRefusedAndIsNoDamage(t *testing.T) {
	t.Parallel()
	records := ordinary(1, 3)
	data, err := appendRecord(nil, &records[1])
	require.NoError(t, err)
	for form := 1; form < 256; form++ {
		data[recordLength+recordFixed-1] = byte(form)
		_, _, err := parseRecord(data, nil)
		require.ErrorIs(t, err, events.ErrForm)
	}
	var out bytes.Buffer
	w, err := NewWriter(&out, NewEncoder(), Start{LogID: "a log", Partitions: 64, First: 1, Tree: new(fingerprint.Tree)})
	require.NoError(t, err)
	for i := range records {
		require.NoError(t, w.Write(&records[i]))
	}
	second := len(data)
	first, err := appendRecord(nil, &records[0])
	require.NoError(t, err)
	require.Greater(t, len(w.records), len(first)+second)
	w.records[len(first)+recordLength+recordFixed-1] = 7
	_, err = w.Close()
	require.NoError(t, err)
	s, err := Open(PartName(1), memory{bytes.NewReader(out.Bytes())})
	require.NoError(t, err)
	got, err := collect(s, 1, 3)
	require.Len(t, got, 1)
	require.EqualError(t, err, "segment "+PartName(1)+", seq 2: the body is stored in a form that this build cannot read (7)")
	require.False(t, errors.As(err, new(*DamagedError)))
}

func TestASegmentOfAnotherFormatIsRefused(t *testing.T) {
	t.Parallel()
	data, info := written(t, 200, ordinary(1, 3))
	for _, format := range []uint32{1, 3} {
		header := bytes.Clone(data[:headerLength])
		le.PutUint32(header[24:], format)
		require.EqualError(t, info.parseHeader(header), fmt.Sprintf("it has format %d, this build reads format 2", format))
	}
}

// Every header that payfold reads is in the message of its record.
func TestAMessageHasWhatItsRecordHas(t *testing.T) {
	t.Parallel()
	r := ordinary(1, 1)[0]
	r.Header = []events.Header{
		{Name: events.HeaderID, Value: "evt_1"},
		{Name: events.HeaderForm, Value: "3"},
		{Name: events.HeaderKey, Value: "k1"},
		{Name: events.HeaderProvider, Value: "polar"},
		{Name: events.HeaderReceivedAt, Value: "2026-01-02T03:04:05.000006Z"},
		{Name: events.HeaderSignature, Value: "AP8="},
		{Name: events.HeaderSigned, Value: "msg_1.1"},
		{Name: events.HeaderSource, Value: "pulled"},
	}
	data, err := appendRecord(nil, &r)
	require.NoError(t, err)
	parsed, _, err := parseRecord(data, nil)
	require.NoError(t, err)
	require.Equal(t, events.Message{
		Seq: 1, ID: "evt_1", Form: 3, Body: r.Body, ReceivedAt: time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC), StoredAt: r.StoredAt,
		Provider: "polar", Source: events.SourcePulled, Signed: "msg_1.1", Signature: "AP8=", KeyFingerprint: "k1",
	}, parsed.Message())
}

// Nobody can make a reader take memory with lengths that the file does not have.
func FuzzSegment(f *testing.F) {
	data, _ := written(f, 200, ordinary(1, 12))
	f.Add(data)
	f.Add(data[:headerLength])
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Open(PartName(1), memory{bytes.NewReader(data)})
		if err != nil {
			require.ErrorAs(t, err, new(*DamagedError))
			return
		}
		_ = s.Check(context.Background(), nil, nil)
	})
}

func FuzzRecord(f *testing.F) {
	records := ordinary(1, 1)
	data, err := appendRecord(nil, &records[0])
	require.NoError(f, err)
	f.Add(data)
	sealed := bytes.Clone(data)
	sealed[recordLength+recordFixed-1] = 1
	f.Add(sealed)
	f.Fuzz(func(t *testing.T, data []byte) {
		r, size, err := parseRecord(data, nil)
		if err != nil {
			require.True(t, errors.Is(err, errRecord) || errors.Is(err, events.ErrForm))
			return
		}
		again, err := appendRecord(nil, &r)
		if err == nil {
			require.Equal(t, data[:size], again)
		}
	})
}

func TestNamesOfSegments(t *testing.T) {
	t.Parallel()
	first, last, ok := ParseName("00000000000000000012.seg")
	require.Equal(t, []any{uint64(12), uint64(0), true}, []any{first, last, ok})
	first, last, ok = ParseName(MergedName(12, 99))
	require.Equal(t, []any{uint64(12), uint64(99), true}, []any{first, last, ok})
	for _, name := range []string{"", ".seg", "12.seg", PartName(0), "0000000000000000001x.seg", "+0000000000000000001.seg", MergedName(5, 4), PartName(1) + "x", "00000000000000000012-.seg"} {
		_, _, ok := ParseName(name)
		require.False(t, ok, name)
	}
}
