package logreport

import (
	"crypto/sha256"
	"fmt"
	"io"
	"time"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/proof"
	"github.com/payfold/payfold/internal/report/page"
)

// Proof writes which event a proof is about, and the checkpoint that confirms it. The caller has
// checked the proof.
func Proof(w io.Writer, m events.Message, c proof.Checkpoint, asJSON bool) error {
	sum := fmt.Sprintf("%x", sha256.Sum256(m.Body))
	return page.Write(w, asJSON, struct {
		EventID    string    `json:"event_id"`
		Seq        uint64    `json:"stream_seq"`
		ReceivedAt time.Time `json:"received_at"`
		StoredAt   time.Time `json:"stored_at"`
		Provider   string    `json:"provider"`
		Source     string    `json:"source,omitempty"`
		Signed     string    `json:"signed,omitempty"`
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
		m.ID, m.Seq, m.ReceivedAt, m.StoredAt, m.Provider, m.Source, m.Signed, m.Signature, m.KeyFingerprint, len(m.Body), sum,
		c.Origin, c.Size, c.Root.String(), c.LogID, c.First,
	}, func(p *page.Page) {
		// Texts of the event are quoted, because they can contain anything.
		p.Line("the proof holds: event %q is in the log, at seq %d", m.ID, m.Seq)
		p.Section("  received    %s", m.ReceivedAt.Format(time.RFC3339Nano))
		p.Line("  stored      %s", m.StoredAt.Format(time.RFC3339Nano))
		p.Line("  provider    %q", m.Provider)
		if m.Source != "" {
			p.Line("  source      %q", m.Source)
		}
		p.Line("  signature   %q, key %q", m.Signature, m.KeyFingerprint)
		if m.Signed != "" {
			p.Line("  signed      %q, before the body", m.Signed)
		}
		p.Line("  body        %d bytes, SHA-256 %s; --body prints it", len(m.Body), sum)
		p.Line("  log         %q, %s from seq %d on, confirmed by %q", c.LogID, page.Count(c.Size, "message"), c.First, c.Origin)
	})
}
