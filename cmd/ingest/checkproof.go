package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/proof"
)

type checkProofCommand struct {
	cli.VerifierFlags
	Body bool   `name:"body" help:"Print the event's body and nothing else, byte for byte."`
	JSON bool   `name:"json" help:"One JSON object."`
	File string `arg:"" help:"File that projector explain --proof has written; - is standard input."`

	verifiers proof.Verifiers
}

// Check implements cli.Checked.
func (c *checkProofCommand) Check(faults *cli.Faults) {
	text := c.Text(faults)
	if text != "" {
		var err error
		c.verifiers, err = proof.ParseVerifiers(text)
		faults.Add(err)
	}
	if c.Body && c.JSON {
		faults.Addf("--body and --json exclude each other")
	}
}

// Run reads nothing but the file. The exit status is 3 if the proof does not hold.
func (c *checkProofCommand) Run(_ context.Context, streams cli.Streams) error {
	input := streams.In
	if c.File != "-" {
		file, err := os.Open(c.File)
		if err != nil {
			return err
		}
		defer file.Close()
		input = file
	}
	text, err := io.ReadAll(io.LimitReader(input, proof.MaxFile+1))
	if err != nil {
		return err
	}
	parsed, err := proof.Parse(text)
	if err != nil {
		return refused(err, streams)
	}
	m, checkpoint, err := parsed.Check(c.verifiers)
	if err != nil {
		return refused(err, streams)
	}
	if c.Body {
		_, err := streams.Out.Write(m.Body)
		return err
	}
	return printProven(streams.Out, m, checkpoint, c.JSON)
}

func printProven(out io.Writer, m events.Message, c proof.Checkpoint, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(out).Encode(struct {
			EventID    string    `json:"event_id"`
			Seq        uint64    `json:"stream_seq"`
			ReceivedAt time.Time `json:"received_at"`
			StoredAt   time.Time `json:"stored_at"`
			Signature  string    `json:"signature"`
			Key        string    `json:"key"`
			BodyBytes  int       `json:"body_bytes"`
			BodySHA256 string    `json:"body_sha256"`
			Origin     string    `json:"origin"`
			Size       uint64    `json:"size"`
			Root       string    `json:"root"`
			LogID      string    `json:"log_id"`
			First      uint64    `json:"first_seq"`
		}{
			m.ID, m.Seq, m.ReceivedAt, m.StoredAt, m.Signature, m.KeyFingerprint, len(m.Body), fmt.Sprintf("%x", sha256.Sum256(m.Body)),
			c.Origin, c.Size, c.Root.String(), c.LogID, c.First,
		})
	}
	var text bytes.Buffer // texts of the event are quoted: they can contain anything
	fmt.Fprintf(&text, "the proof holds: event %q is in the log, at seq %d\n\n", m.ID, m.Seq)
	fmt.Fprintf(&text, "  received    %s\n", m.ReceivedAt.Format(time.RFC3339Nano))
	fmt.Fprintf(&text, "  stored      %s\n", m.StoredAt.Format(time.RFC3339Nano))
	fmt.Fprintf(&text, "  signature   %q, key %q\n", m.Signature, m.KeyFingerprint)
	fmt.Fprintf(&text, "  body        %d bytes, SHA-256 %x; --body prints it\n", len(m.Body), sha256.Sum256(m.Body))
	fmt.Fprintf(&text, "  log         %q, %d messages from seq %d on, confirmed by %q\n", c.LogID, c.Size, c.First, c.Origin)
	_, err := out.Write(text.Bytes())
	return err
}
