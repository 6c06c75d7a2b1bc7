package fingerprint

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/tlog"
	"pgregory.net/rapid"

	"github.com/payfold/payfold/internal/events"
)

// known was encoded and hashed by a program of another language, from the description at
// AppendRecord.
var known = struct {
	message      events.Message
	record, leaf string
}{
	message: events.Message{
		Seq: 42, Partition: 17, ID: "evt_1", Body: []byte(`{"id":"evt_1"}`),
		Provider: "polar", Source: events.SourcePulled, Signed: "msg_1.1763856000", Signature: "AP8=", KeyFingerprint: "k1",
		StoredAt: time.Unix(1763856000, 123456789).UTC(), ReceivedAt: time.Unix(1763855999, 5000).UTC(),
	},
	record: "0200000000000000002a00000000000000110000000069224e80075bcd150000000069224e7f00001388000000056576" +
		"745f3100000005706f6c61720000000670756c6c6564000000106d73675f312e31373633383536303030000000044150" +
		"383d000000026b310000000e7b226964223a226576745f31227d",
	leaf: "2a9f69a558960bfb5179e3d705fbb76781481412e4cd44c658f9616b495ecf4a",
}

func TestTheRecordOfAMessageIsTheDocumentedOne(t *testing.T) {
	t.Parallel()
	record := AppendRecord(nil, known.message)
	require.Equal(t, known.record, hex.EncodeToString(record))
	leaf := Leaf(known.message)
	require.Equal(t, known.leaf, hex.EncodeToString(leaf[:]))
	local := known.message
	local.StoredAt = local.StoredAt.In(time.FixedZone("elsewhere", 3600))
	require.Equal(t, leaf, Leaf(local), "only the moment counts, not how it is shown")
}

// A stranger computes a leaf from the example of the document.
func TestTheDocumentHasARecordByteByByte(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "fingerprint.md"))
	require.NoError(t, err)
	_, section, found := strings.Cut(string(text), "### The record")
	require.True(t, found)
	var record []byte
	for line := range strings.Lines(strings.Split(section, "```")[1]) {
		bytes, _, _ := strings.Cut(line, "  ")
		part, err := hex.DecodeString(strings.ReplaceAll(strings.TrimSpace(bytes), " ", ""))
		require.NoError(t, err, line)
		record = append(record, part...)
	}
	message, err := ParseRecord(record)
	require.NoError(t, err)
	require.Equal(t, known.message, message)
	leaf := sha256.Sum256(append([]byte{0}, record...))
	require.Contains(t, section, "Its leaf is `"+hex.EncodeToString(leaf[:])+"`")
	for _, moment := range []time.Time{message.StoredAt, message.ReceivedAt} {
		require.Contains(t, section, moment.Format(time.RFC3339Nano))
	}
}

func anyMessage(r *rapid.T, name string) events.Message {
	text := rapid.OneOf(rapid.Just(""), rapid.StringN(0, 20, 60))
	moment := rapid.Custom(func(r *rapid.T) time.Time {
		return time.Unix(rapid.Int64Range(-1<<40, 1<<40).Draw(r, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(r, "nanoseconds")).UTC()
	})
	return events.Message{
		Seq: rapid.Uint64().Draw(r, name+" seq"), Partition: rapid.Int().Draw(r, name+" partition"),
		ID: text.Draw(r, name+" id"), Provider: text.Draw(r, name+" provider"), Source: text.Draw(r, name+" source"),
		Signed: text.Draw(r, name+" signed"), Signature: text.Draw(r, name+" signature"), KeyFingerprint: text.Draw(r, name+" key"),
		StoredAt: moment.Draw(r, name+" stored"), ReceivedAt: moment.Draw(r, name+" received"),
		Body: rapid.SliceOfN(rapid.Byte(), 0, 700).Draw(r, name+" body"),
	}
}

func TestARecordHoldsTheWholeMessage(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		m := anyMessage(r, "message")
		record := AppendRecord([]byte("before"), m)[len("before"):]
		require.Equal(r, tlog.RecordHash(record), Leaf(m))
		parsed, err := ParseRecord(record)
		require.NoError(r, err)
		require.Equal(r, m, parsed)
	})
}

// Fields that are added to a Message must be added to its record.
func TestEveryFieldOfAMessageChangesItsLeaf(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		a, b := anyMessage(r, "one"), anyMessage(r, "other")
		a.Form, b.Form = events.Form(rapid.Byte().Draw(r, "one form")), events.Form(rapid.Byte().Draw(r, "other form"))
		for i := range reflect.TypeFor[events.Message]().NumField() {
			mixed := a
			field, from := reflect.ValueOf(&mixed).Elem().Field(i), reflect.ValueOf(b).Field(i)
			differs := !reflect.DeepEqual(field.Interface(), from.Interface())
			field.Set(from)
			require.Equal(r, differs, Leaf(a) != Leaf(mixed), "%s", reflect.TypeFor[events.Message]().Field(i).Name)
		}
	})
}

func TestNoFieldTakesBytesFromItsNeighbour(t *testing.T) {
	t.Parallel()
	require.NotEqual(t, Leaf(events.Message{ID: "ab", Signature: "c"}), Leaf(events.Message{ID: "a", Signature: "bc"}))
	require.NotEqual(t, Leaf(events.Message{Provider: "pulled"}), Leaf(events.Message{Source: "pulled"}))
	require.NotEqual(t, Leaf(events.Message{Signed: "1", Signature: "2"}), Leaf(events.Message{Signed: "12"}))
	require.NotEqual(t, Leaf(events.Message{KeyFingerprint: "k", Body: []byte("b")}), Leaf(events.Message{KeyFingerprint: "kb"}))
}

func TestOnlyRecordsAreParsed(t *testing.T) {
	t.Parallel()
	record := AppendRecord(nil, known.message)
	for end := range record {
		_, err := ParseRecord(record[:end])
		require.ErrorIs(t, err, errNotARecord)
	}
	_, err := ParseRecord(append(bytes.Clone(record), 0))
	require.ErrorIs(t, err, errNotARecord)
	for _, version := range []byte{1, 3} {
		other := bytes.Clone(record)
		other[0] = version
		_, err = ParseRecord(other)
		require.ErrorContains(t, err, fmt.Sprintf("it has version %d, this build reads version 2", version))
	}
}

func TestARecordWhoseBodyIsStoredInAnotherFormIsRefused(t *testing.T) {
	t.Parallel()
	for form := 1; form < 256; form++ {
		m := known.message
		m.Form = events.Form(form)
		_, err := ParseRecord(AppendRecord(nil, m))
		require.ErrorIs(t, err, errNotARecord)
		require.ErrorIs(t, err, events.ErrForm)
		require.ErrorContains(t, err, fmt.Sprintf("stored in a form that this build cannot read (%d)", form))
	}
}

func FuzzParseRecord(f *testing.F) {
	f.Add(AppendRecord(nil, known.message))
	f.Add([]byte{2})
	f.Add([]byte{2, 1})
	f.Fuzz(func(t *testing.T, record []byte) {
		m, err := ParseRecord(record)
		if err != nil {
			require.ErrorIs(t, err, errNotARecord)
			return
		}
		require.Equal(t, record, AppendRecord(nil, m))
	})
}

func BenchmarkLeaf(b *testing.B) {
	m := known.message
	m.Body = bytes.Repeat([]byte("x"), 1500)
	var tree Tree
	for b.Loop() {
		tree.Append(Leaf(m))
	}
}
