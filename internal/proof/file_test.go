package proof

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/fingerprint"
)

func (w *world) prove(signed []byte, seq uint64) Proof {
	w.t.Helper()
	p, m, err := Prove(w.t.Context(), w.reader, w.verifiers, signed, seq, nil)
	require.NoError(w.t, err)
	require.Equal(w.t, seq, m.Seq)
	return p
}

func TestEveryMessageOfACheckpointIsProvenFromItsFile(t *testing.T) {
	t.Parallel()
	w := setup(t, 7)
	signed, c := w.sign()
	w.deliver(8, 9)
	for seq := uint64(1); seq <= 7; seq++ {
		p, err := Parse(w.prove(signed, seq).Marshal())
		require.NoError(t, err)
		m, of, err := p.Check(w.verifiers)
		require.NoError(t, err)
		require.Equal(t, c, of)
		require.Equal(t, fmt.Sprintf("evt_%d", seq), m.ID)
		require.Contains(t, string(m.Body), fmt.Sprintf(`"user_id":"u_%d"`, seq))
	}
	for _, seq := range []uint64{0, 8} {
		_, _, err := Prove(t.Context(), w.reader, w.verifiers, signed, seq, nil)
		requireRefused(t, err, "the checkpoint covers the 7 messages from seq 1 on, and not seq")
	}
}

func TestNoProofIsMadeFromAnAlteredLogOrCheckpoint(t *testing.T) {
	t.Parallel()
	w := setup(t, 4)
	signed, _ := w.sign()
	for _, alteration := range alterations {
		w.reader.info, w.reader.change = alteration.info, alteration.change
		_, _, err := Prove(t.Context(), w.reader, w.verifiers, signed, 1, nil)
		requireRefused(t, err, alteration.words)
	}
	w.reader.info, w.reader.change = nil, nil
	_, _, err := Prove(t.Context(), w.reader, w.verifiers, bytes.Replace(signed, []byte("\n4\n"), []byte("\n3\n"), 1), 1, nil)
	requireRefused(t, err, "the checkpoint was changed")
}

func TestAChangedProofIsRefused(t *testing.T) {
	t.Parallel()
	w := setup(t, 6)
	signed, _ := w.sign()
	p, other := w.prove(signed, 2), w.prove(signed, 5)
	_, strangers := keyOf(t, "other.example")
	_, _, err := p.Check(strangers)
	requireRefused(t, err, "no given verifier key has signed the checkpoint")

	check := func(change func(*Proof), words string) {
		t.Helper()
		changed := p
		changed.Hashes = append([]fingerprint.Hash(nil), p.Hashes...)
		changed.Record, changed.Note = bytes.Clone(p.Record), bytes.Clone(p.Note)
		change(&changed)
		_, _, err := changed.Check(w.verifiers)
		requireRefused(t, err, words)
	}
	check(func(p *Proof) { p.Record = other.Record }, "is not among the 6 messages")
	check(func(p *Proof) { p.Index = other.Index }, "is not among the 6 messages")
	check(func(p *Proof) { p.Index = 6 }, "is not among the 6 messages")
	check(func(p *Proof) { p.Hashes = other.Hashes }, "is not among the 6 messages")
	check(func(p *Proof) { p.Hashes = p.Hashes[1:] }, "is not among the 6 messages")
	check(func(p *Proof) { p.Record[len(p.Record)-3] ^= 1 }, "is not among the 6 messages")
	check(func(p *Proof) { p.Record = p.Record[1:] }, "has no message")
	check(func(p *Proof) { p.Note[0] ^= 1 }, "the checkpoint was changed")
}

// A log could put the record of another place into a leaf.
func TestAMessageMustBeAtTheSequenceThatItNames(t *testing.T) {
	t.Parallel()
	signer, verifiers := keyOf(t, "shop.example")
	record := fingerprint.AppendRecord(nil, events.Message{Seq: 2, ID: "evt_1"})
	var tree fingerprint.Tree
	tree.Append(fingerprint.Leaf(events.Message{Seq: 2, ID: "evt_1"}))
	signed, err := Checkpoint{Size: 1, Root: tree.Root(), LogID: "log", First: 1}.sign(signer)
	require.NoError(t, err)
	_, _, err = Proof{Record: record, Note: signed}.Check(verifiers)
	requireRefused(t, err, "its message has seq 2, and message 0 of the checkpoint has seq 1")
}

// someProof is a proof that holds.
func someProof(t require.TestingT) (Proof, Verifiers) {
	signer, verifiers := keyOf(t, "shop.example")
	inclusion, err := fingerprint.NewInclusion(5, 3)
	require.NoError(t, err)
	var record []byte
	for n := range uint64(5) {
		m := events.Message{Seq: 10 + n, ID: fmt.Sprint("evt_", n), Body: []byte(`{}`)}
		if n == 3 {
			record = fingerprint.AppendRecord(nil, m)
		}
		inclusion.Append(fingerprint.Leaf(m))
	}
	hashes, err := inclusion.Hashes()
	require.NoError(t, err)
	signed, err := Checkpoint{Size: 5, Root: inclusion.Root(), LogID: "log", First: 10}.sign(signer)
	require.NoError(t, err)
	return Proof{record, 3, hashes, signed}, verifiers
}

func TestAProofIsADocumentedFile(t *testing.T) {
	t.Parallel()
	p, verifiers := someProof(t)
	file := string(p.Marshal())
	require.True(t, strings.HasPrefix(file, "c2sp.org/tlog-proof@v1\nextra "+base64.StdEncoding.EncodeToString(p.Record)+"\nindex 3\n"), file)
	require.True(t, strings.HasSuffix(file, "=\n\nshop.example\n5\n"+string(p.Note[len("shop.example\n5\n"):])), file)
	parsed, err := Parse([]byte(file))
	require.NoError(t, err)
	require.Equal(t, p, parsed)
	_, _, err = parsed.Check(verifiers)
	require.NoError(t, err)

	for _, change := range [][2]string{
		{"v1", "v2"}, {"extra ", ""}, {"extra ", "extra  "}, {"index 3", "index 03"}, {"index 3", "index x"}, {"=\n\n", "\n\n"}, {"\n\n", "\n"}, {"\nindex 3", ""}, {"=\n", "=\r\n"},
	} {
		_, err := Parse([]byte(strings.Replace(file, change[0], change[1], 1)))
		require.ErrorAs(t, err, new(RefusedError), "%q", change)
	}
	many := strings.Replace(file, "index 3\n", "index 3\n"+strings.Repeat(p.Hashes[0].String()+"\n", 64), 1)
	_, err = Parse([]byte(many))
	requireRefused(t, err, "lines before the checkpoint")
}

func FuzzParseProof(f *testing.F) {
	p, verifiers := someProof(f)
	f.Add(p.Marshal())
	f.Add([]byte(headLine + "\nextra AQ==\nindex 0\n\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		parsed, err := Parse(file)
		if err != nil {
			require.ErrorAs(t, err, new(RefusedError))
			return
		}
		require.Equal(t, file, parsed.Marshal())
		if _, _, err := parsed.Check(verifiers); err == nil {
			require.Equal(t, p.Record, parsed.Record, "only this message is covered by what was signed and proven")
		} else {
			require.ErrorAs(t, err, new(RefusedError))
		}
	})
}
