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
	out := struct {
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
		m.ID, m.Seq, m.ReceivedAt, m.StoredAt, m.Provider, m.Source, m.Signed, m.Signature, m.KeyFingerprint, len(m.Body),
		fmt.Sprintf("%x", sha256.Sum256(m.Body)), c.Origin, c.Size, c.Root.String(), c.LogID, c.First,
	}
	return page.Write(w, asJSON, out, func(p *page.Page) {
		p.Line("the proof holds: event %q is in the log, at seq %d; --body prints its body", m.ID, m.Seq)
		p.Row(out)
	})
}
