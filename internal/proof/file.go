package proof

import (
	"bytes"
	"context"
	"encoding/base64"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/fingerprint"
)

// Proof shows that a message is one of those that a checkpoint covers. It has everything that a
// check needs, except the verifier key.
type Proof struct {
	Record []byte // of the message
	Index  uint64 // of its leaf, from 0
	Hashes []fingerprint.Hash
	Note   []byte // the signed checkpoint
}

// Prove reads the messages that a signed checkpoint covers, and proves that the one at seq is
// among them. It returns the message, too. The error is a RefusedError if none of the keys has
// signed the checkpoint, if it does not cover seq, or if the log does not begin with its messages.
func Prove(ctx context.Context, log Log, keys Verifiers, signed []byte, seq uint64, progress Progress) (Proof, events.Message, error) {
	c, err := keys.Open(signed)
	if err != nil {
		return Proof{}, events.Message{}, err
	}
	if c.Size == 0 || seq < c.First || seq > c.Last() {
		return Proof{}, events.Message{}, refuse("the checkpoint covers the %d messages from seq %d on, and not seq %d", c.Size, c.First, seq)
	}
	info, err := log.Info(ctx)
	if err == nil {
		err = covers(info, c)
	}
	if err != nil {
		return Proof{}, events.Message{}, err
	}
	p := Proof{Index: seq - c.First, Note: signed}
	inclusion, err := fingerprint.NewInclusion(c.Size, p.Index)
	if err != nil {
		return Proof{}, events.Message{}, err
	}
	err = read(ctx, log, c.First, c.First+c.Size, progress, func(m events.Message, leaf fingerprint.Hash) {
		if m.Seq == seq {
			p.Record = fingerprint.AppendRecord(nil, m)
		}
		inclusion.Append(leaf)
	})
	if err == nil {
		err = sameRoot(inclusion.Root(), c)
	}
	if err == nil {
		p.Hashes, err = inclusion.Hashes()
	}
	if err != nil {
		return Proof{}, events.Message{}, err
	}
	m, err := fingerprint.ParseRecord(p.Record)
	return p, m, err
}

// Check returns the message that a proof is about, and the checkpoint that covers it. The error
// is a RefusedError unless one of the keys has signed the checkpoint, and the message is in the
// log as the checkpoint states it. It reads nothing but its arguments.
func (p Proof) Check(keys Verifiers) (events.Message, Checkpoint, error) {
	c, err := keys.Open(p.Note)
	if err != nil {
		return events.Message{}, Checkpoint{}, err
	}
	m, err := fingerprint.ParseRecord(p.Record)
	if err != nil {
		return events.Message{}, Checkpoint{}, refuse("the proof has no message: %v", err)
	}
	if err := fingerprint.CheckInclusion(p.Hashes, c.Size, c.Root, p.Index, tlog.RecordHash(p.Record)); err != nil {
		return events.Message{}, Checkpoint{}, refuse("the proof does not hold: its message, number %d, is not among the %d messages of the checkpoint", p.Index, c.Size)
	}
	if m.Seq != c.First+p.Index {
		return events.Message{}, Checkpoint{}, refuse("the proof does not hold: its message has seq %d, and message %d of the checkpoint has seq %d", m.Seq, p.Index, c.First+p.Index)
	}
	return m, c, nil
}

// The lines of c2sp.org/tlog-proof. The extra data is the message's record.
const (
	headLine  = "c2sp.org/tlog-proof@v1"
	extraLine = "extra "
	indexLine = "index "
)

// MaxFile is the size of the largest proof that is read: four times what the largest message
// needs.
const MaxFile = 8 << 20

// Marshal returns the proof as the content of a file.
func (p Proof) Marshal() []byte {
	out := []byte(headLine + "\n" + extraLine)
	out = base64.StdEncoding.AppendEncode(out, p.Record)
	out = append(out, "\n"+indexLine...)
	out = strconv.AppendUint(out, p.Index, 10)
	for _, hash := range p.Hashes {
		out = append(out, "\n"+hash.String()...)
	}
	return append(append(out, "\n\n"...), p.Note...)
}

// Parse is the inverse of Marshal. The error is a RefusedError. The proof is not checked yet.
func Parse(file []byte) (Proof, error) {
	head, signed, found := bytes.Cut(file, []byte("\n\n"))
	lines := strings.Split(string(head), "\n")
	if !found || len(file) > MaxFile || lines[0] != headLine {
		return Proof{}, refuse("it is not a proof: its first line is not %s, or it has no checkpoint", headLine)
	}
	if len(lines) < 3 || len(lines) > 3+64 {
		return Proof{}, refuse("it is not a proof: it has %d lines before the checkpoint", len(lines))
	}
	p := Proof{Note: signed}
	var err error
	if p.Record, err = base64.StdEncoding.DecodeString(strings.TrimPrefix(lines[1], extraLine)); err != nil {
		return Proof{}, refuse("its line %sis damaged", extraLine)
	}
	if p.Index, err = strconv.ParseUint(strings.TrimPrefix(lines[2], indexLine), 10, 64); err != nil {
		return Proof{}, refuse("its line %sis damaged", indexLine)
	}
	for i, line := range lines[3:] {
		hash, err := tlog.ParseHash(line)
		if err != nil {
			return Proof{}, refuse("its hash %d is damaged", i+1)
		}
		p.Hashes = append(p.Hashes, hash)
	}
	if !bytes.Equal(p.Marshal(), file) { // such as bits that base64 ignores
		return Proof{}, refuse("it is not a proof in the exact form that this program writes")
	}
	return p, nil
}
