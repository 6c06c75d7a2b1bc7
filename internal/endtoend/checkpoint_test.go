package endtoend

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/minio/highwayhash"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv"
)

// signer signs checkpoints of a world's log.
type signer struct {
	*world
	key      string // its file
	verifier string
}

func (w *world) newSigner(t *testing.T, name string) signer {
	t.Helper()
	s := signer{world: w, key: filepath.Join(t.TempDir(), "checkpoint.key")}
	code, output := s.ingestCommand(t, "CHECKPOINT_KEY_FILE="+s.key, "checkpoint", "--new-key", name)
	require.Zero(t, code, output)
	s.verifier = strings.TrimSpace(output)
	require.True(t, strings.HasPrefix(s.verifier, name+"+"), output)
	return s
}

// ingestCommand runs a command of ingest to its end, with one more variable.
func (w *world) ingestCommand(t *testing.T, variable string, args ...string) (code int, output string) {
	t.Helper()
	p := testenv.Start(t, "ingest", append(w.env(), variable), args...)
	return p.Exit(t), p.Output()
}

// checkpoint signs a checkpoint and returns its file.
func (s signer) checkpoint(t *testing.T) string {
	t.Helper()
	code, output := s.ingestCommand(t, "CHECKPOINT_KEY_FILE="+s.key, "checkpoint")
	require.Zero(t, code, output)
	return write(t, "checkpoint", output)
}

// requireNotSigned: the log does not extend the last checkpoint of the key.
func (s signer) requireNotSigned(t *testing.T, words string) {
	t.Helper()
	code, output := s.ingestCommand(t, "CHECKPOINT_KEY_FILE="+s.key, "checkpoint")
	require.Equal(t, 3, code, output)
	require.Contains(t, output, "nothing was signed")
	require.Contains(t, output, words)
	require.NotContains(t, output, "— ")
}

func write(t *testing.T, name, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func (s signer) verify(t *testing.T, code int, checkpoint string, args ...string) string {
	t.Helper()
	return s.world.verify(t, code, append([]string{"--checkpoint", checkpoint, "--checkpoint-verifier-key", s.verifier}, args...)...)
}

// explain asks for the proof of an event.
func (s signer) explain(t *testing.T, code int, checkpoint string, args ...string) (proof string) {
	t.Helper()
	p := s.command(t, append([]string{"explain", "--proof", "--checkpoint", checkpoint, "--checkpoint-verifier-key", s.verifier}, args...)...)
	require.Equal(t, code, p.Exit(t), p.Output())
	return p.Output()
}

// checkProof checks a proof without the installation.
func (s signer) checkProof(t *testing.T, code int, proof string, args ...string) string {
	t.Helper()
	p := testenv.Start(t, "ingest", []string{"CHECKPOINT_VERIFIER_KEY=" + s.verifier}, append([]string{"check-proof", write(t, "evt.tlog-proof", proof)}, args...)...)
	require.Equal(t, code, p.Exit(t), p.Output())
	return p.Output()
}

func TestACheckpointIsComparedAndItsEventsAreProven(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.startProjector(t)
	bodies := []string{pack("evt_1", "pay_1", "u_1", 1), pack("evt_2", "pay_2", "u_1", 2), pack("evt_3", "pay_3", "u_1", 3)}
	w.deliver(t, bodies...)
	w.awaitProjected(t)
	shop, stranger := w.newSigner(t, "shop.example/payments"), w.newSigner(t, "shop.example/payments")
	checkpoint := shop.checkpoint(t)
	w.deliver(t, pack("evt_4", "pay_4", "u_1", 4))
	w.awaitProjected(t)

	output := shop.verify(t, 0, checkpoint)
	require.Contains(t, output, "the log begins with the checkpoint of shop.example/payments: 3 messages, seq 1 to 3\n")
	require.Contains(t, output, "portal is what the log gives, up to seq 4")
	require.Contains(t, shop.verify(t, 0, checkpoint, "--json"), `"checkpoint_holds":true`)
	require.Contains(t, stranger.verify(t, 3, checkpoint), "no given verifier key has signed the checkpoint")
	text, err := os.ReadFile(checkpoint)
	require.NoError(t, err)
	edited := write(t, "checkpoint", strings.Replace(string(text), "\n3\n", "\n2\n", 1))
	require.Contains(t, shop.verify(t, 3, edited), "the checkpoint was changed; the tables were not compared")
	require.Contains(t, shop.verify(t, 3, edited, "--json"), `"checkpoint_holds":false,"fault":"the signature of`)
	require.Contains(t, w.verify(t, 2, "--checkpoint", checkpoint), "CHECKPOINT_VERIFIER_KEY is missing")
	require.Contains(t, w.verify(t, 2, "--checkpoint", checkpoint, "--checkpoint-verifier-key", "nonsense"), "is not a verifier key")

	proof := shop.explain(t, 0, checkpoint, "evt_2")
	require.Equal(t, proof, shop.explain(t, 0, checkpoint, "--seq", "2"))
	require.Contains(t, shop.checkProof(t, 0, proof), `the proof holds: event "evt_2" is in the log, at seq 2`)
	require.Equal(t, bodies[1], shop.checkProof(t, 0, proof, "--body"))
	require.Contains(t, shop.checkProof(t, 0, proof, "--json"), `"event_id":"evt_2","stream_seq":2`)
	require.Contains(t, stranger.checkProof(t, 3, proof), "no given verifier key has signed the checkpoint")
	lines, others := strings.Split(proof, "\n"), strings.Split(shop.explain(t, 0, checkpoint, "evt_3"), "\n")
	lines[1] = others[1] // the record
	require.Contains(t, shop.checkProof(t, 3, strings.Join(lines, "\n")), "the proof does not hold")
	require.Contains(t, shop.checkProof(t, 3, strings.Replace(proof, "\n3\n", "\n2\n", 1)), "the checkpoint was changed")
	require.Contains(t, shop.checkProof(t, 3, "anything"), "it is not a proof")
	require.Contains(t, shop.explain(t, 3, checkpoint, "evt_4"), "the checkpoint covers the 3 messages from seq 1 on, and not seq 4")
	require.Contains(t, shop.explain(t, 3, checkpoint, "evt_5"), "no event evt_5 is in the tables")
	require.Contains(t, shop.explain(t, 2, checkpoint, "--user", "u_1"), "--proof is about one event")
	require.Contains(t, w.runWithExit(t, 2, "explain", "evt_1", "--proof"), "--proof and --checkpoint FILE need each other")
}

// The server's own checksums miss this.
func TestAForgedByteIsFoundByTheCheckpoint(t *testing.T) {
	t.Parallel()
	w := setup(t)
	projector := w.startProjector(t)
	w.deliver(t, pack("evt_1", "pay_1", "u_1", 1), pack("evt_2", "pay_2", "u_1", 2), pack("evt_3", "pay_3", "u_1", 3))
	w.awaitProjected(t)
	stop(t, projector)
	shop := w.newSigner(t, "shop.example")
	checkpoint := shop.checkpoint(t)
	shop.verify(t, 0, checkpoint)

	w.ingest.Kill()
	w.forge(t, `"credits":2`, `"credits":9`)
	w.startIngest(t)
	status, output := w.check(t)
	require.Zero(t, status, output)
	const server = "--archive-url=none" // the archive may have the true bytes already
	require.Contains(t, shop.verify(t, 3, checkpoint, server), "the log does not begin with the 3 messages of the checkpoint: up to seq 3 a message was changed, moved, added or removed; the tables were not compared")
	shop.requireNotSigned(t, "the log does not begin with the 3 messages")
	require.Contains(t, shop.explain(t, 3, checkpoint, "evt_1", server), "the log does not begin with the 3 messages")

	w.ingest.Kill()
	w.forge(t, `"credits":9`, `"credits":2`)
	w.startIngest(t)
	shop.verify(t, 0, checkpoint)
	shop.checkpoint(t)
}

// forge replaces text in the body of a message, and writes the checksum of the new body.
func (w *world) forge(t *testing.T, from, to string) {
	t.Helper()
	const length, sequence, fixed, checksum = 4, 20, 22, 8
	le := binary.LittleEndian
	block, err := os.ReadFile(w.block(1))
	require.NoError(t, err)
	key := sha256.Sum256([]byte(testenv.Stream + "-1"))
	sum, err := highwayhash.New64(key[:])
	require.NoError(t, err)
	forged := 0
	for record := block; len(record) > 0; {
		size := le.Uint32(record) &^ (1 << 31)
		subject := fixed + int(le.Uint16(record[sequence:]))
		header := subject + length
		body := record[header+int(le.Uint32(record[subject:])) : size-checksum]
		if at := bytes.Index(body, []byte(from)); at >= 0 {
			copy(body[at:], to)
			sum.Reset()
			for _, part := range [][]byte{record[length:sequence], record[fixed:subject], record[header : size-checksum]} {
				_, _ = sum.Write(part)
			}
			le.PutUint64(record[size-checksum:], sum.Sum64())
			forged++
		}
		record = record[size:]
	}
	require.Equal(t, 1, forged)
	require.NoError(t, os.WriteFile(w.block(1), block, 0o600))
}

func TestALogThatWasCutOrWentAnotherWayIsFoundByTheCheckpoint(t *testing.T) {
	t.Parallel()
	w := setup(t)
	log, backup := filepath.Join(w.dir, "log"), filepath.Join(t.TempDir(), "log")
	w.deliver(t, pack("evt_1", "pay_1", "u_1", 1))
	w.ingest.Kill()
	require.NoError(t, os.CopyFS(backup, os.DirFS(log)))
	require.NoError(t, os.Remove(filepath.Join(backup, "watermark")))
	w.startIngest(t)
	w.deliver(t, pack("evt_2", "pay_2", "u_1", 2))
	shop := w.newSigner(t, "shop.example")
	checkpoint := shop.checkpoint(t)
	w.ingest.Kill()

	require.NoError(t, os.RemoveAll(log))
	require.NoError(t, os.CopyFS(log, os.DirFS(backup)))
	w.startIngest(t)
	projector := w.startProjector(t)
	w.awaitProjected(t)
	require.Contains(t, shop.verify(t, 3, checkpoint), "the log is too short: the checkpoint covers 2 messages up to seq 2, and the log ends at seq 1")
	shop.requireNotSigned(t, "the log is too short")
	w.deliver(t, pack("evt_3", "pay_3", "u_1", 3), pack("evt_2", "pay_2", "u_1", 2))
	w.awaitProjected(t)
	stop(t, projector)
	require.Contains(t, shop.verify(t, 3, checkpoint), "the log does not begin with the 2 messages of the checkpoint")
	shop.requireNotSigned(t, "the log does not begin with the 2 messages")

	other := setup(t)
	other.deliver(t, pack("evt_1", "pay_1", "u_1", 1), pack("evt_2", "pay_2", "u_1", 2))
	other.startProjector(t)
	other.awaitProjected(t)
	require.Contains(t, signer{other, shop.key, shop.verifier}.verify(t, 3, checkpoint), "and this is log ")
}
