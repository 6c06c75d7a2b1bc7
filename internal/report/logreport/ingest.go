package logreport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/minutes"
	"github.com/payfold/payfold/internal/report/page"
	"github.com/payfold/payfold/internal/telemetry"
	"github.com/payfold/payfold/internal/webhook"
)

// Ingest is the state of a running ingest at one moment of its clock.
type Ingest struct {
	At        time.Time        `json:"at"`
	Version   string           `json:"version"`
	StartedAt time.Time        `json:"started_at"`
	NotReady  string           `json:"not_ready,omitempty"`  // why; empty if it is ready
	Log       *ServerLog       `json:"log"`                  // nil if the log is not open or does not answer
	Archive   *archive.State   `json:"archive"`              // nil if the log is not archived, or not open
	Damage    []string         `json:"log_damage,omitempty"` // see eventlog.Scrubber
	Answers   []webhook.Minute `json:"answers"`

	GivesUp           map[string]float64 `json:"provider_gives_up_seconds,omitempty"`        // see webhook.Handler.GivesUp
	GivesUpSigned     map[string]float64 `json:"provider_gives_up_signed_seconds,omitempty"` // of those with a valid signature
	RefusesSignatures map[string]float64 `json:"refusing_signatures_seconds,omitempty"`      // see webhook.Handler
}

// ServerLog is the state of the log and of the messages that its server has.
type ServerLog struct {
	Log
	StoredAt    time.Time `json:"newest_stored_at,omitzero"`
	ServerFirst uint64    `json:"server_first_seq"` // of the oldest message
	Messages    uint64    `json:"messages"`         // their number
	Bytes       uint64    `json:"bytes"`            // of these messages
}

// ServerLogOf returns the state that info describes.
func ServerLogOf(info eventlog.Info) *ServerLog {
	return &ServerLog{LogOf(info), info.StoredAt, info.ServerFirst, info.Messages, info.Bytes}
}

// Write writes text for people, or one JSON object.
func (i Ingest) Write(w io.Writer, asJSON bool) error { return page.Write(w, asJSON, i, i.text) }

func (i Ingest) text(p *page.Page) {
	p.Section("INGEST")
	ready := "yes"
	if i.NotReady != "" {
		ready = "no: " + i.NotReady
	}
	p.Fields("ready", ready, "version", i.Version, "started", i.since(i.StartedAt), "as of", i.At)
	i.logText(p)
	for _, place := range i.Damage {
		p.Line("  DAMAGED: %s", place)
	}
	i.archiveText(p)
	i.answersText(p)
	for _, name := range slices.Sorted(maps.Keys(i.GivesUp)) {
		p.Line("%s", givesUp(name, i.GivesUp[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(i.RefusesSignatures)) {
		p.Line("no signature of %s was valid for %s", name, page.Seconds(i.RefusesSignatures[name]))
	}
}

// givesUp says how long the provider still repeats what was not stored.
func givesUp(provider string, seconds float64) string {
	if seconds <= 0 {
		return fmt.Sprintf("%s has stopped repeating a delivery that was not stored: have it send its events again", provider)
	}
	return fmt.Sprintf("%s stops repeating a delivery that was not stored in %s", provider, page.Seconds(seconds))
}

func (i Ingest) logText(p *page.Page) {
	p.Section("LOG")
	if i.Log == nil {
		p.Line("  it is not open, or does not answer")
		return
	}
	l, newest, older := i.Log, "none", ""
	if l.Head >= l.First {
		newest = "seq " + fmt.Sprint(l.Head) + ", stored " + i.since(l.StoredAt)
	}
	if l.ServerFirst > l.First {
		older = fmt.Sprintf("seq %d to %d are in the archive only", l.First, l.ServerFirst-1)
	}
	p.Fields("newest", newest, "first seq", l.First, "kept by its server", l.kept(), "older", older,
		"log_id", l.LogID, "partitions", l.Partitions, "replicas", l.ReplicasText())
}

func (l ServerLog) kept() string {
	if l.Messages == 0 {
		return "nothing"
	}
	return fmt.Sprintf("seq %d to %d, %s, %d bytes", l.ServerFirst, l.Head, page.Count(l.Messages, "message"), l.Bytes)
}

func (i Ingest) archiveText(p *page.Page) {
	switch {
	case i.Archive == nil && i.Log == nil:
		return
	case i.Archive == nil:
		p.Section("ARCHIVE: none")
		return
	}
	a := i.Archive
	p.Section("ARCHIVE")
	lag, damaged := "none", ""
	switch {
	case a.LookedAt.IsZero():
		lag = "not known yet"
	case a.LagMessages == 0 && a.LagSeconds > 0:
		lag = fmt.Sprintf("not known for %s", page.Seconds(a.LagSeconds))
	case a.LagMessages > 0:
		lag = fmt.Sprintf("%s, the oldest stored %s ago", page.Count(a.LagMessages, "message"), page.Seconds(a.LagSeconds))
	}
	if a.Damaged > 0 {
		damaged = fmt.Sprintf("%s, damaged or missing; to list them: ingest archive", page.Count(a.Damaged, "segment"))
	}
	fault := "last error"
	if a.Contradicts {
		fault = "contradiction"
	}
	p.Fields("place", a.Archive, "lag", lag, "damaged", damaged, fault, a.LastError)
}

// Counts counts the answers of the last minutes, up to the present one. Later ones are of a clock that was set back.
func (i Ingest) Counts(last int) map[string]uint64 {
	counts := map[string]uint64{}
	for _, minute := range i.Answers {
		if age := minutes.Begin(i.At).Sub(minute.Begin); age >= 0 && age < time.Duration(last)*time.Minute {
			for answer, count := range minute.Answers {
				counts[answer] += count
			}
		}
	}
	return counts
}

func (i Ingest) answersText(p *page.Page) {
	all := i.Counts(minutes.Kept)
	if len(all) == 0 {
		p.Section("ANSWERS: none in the last hour")
		return
	}
	p.Section("ANSWERS")
	var rows [][]any
	for _, name := range slices.Sorted(maps.Keys(all)) {
		rows = append(rows, []any{name, i.Counts(1)[name], i.Counts(5)[name], i.Counts(15)[name], all[name]})
	}
	p.Table("answer,this minute,last 5,last 15,last 60", rows)
}

func (i Ingest) since(t time.Time) string {
	return page.Time(t) + ", " + page.Seconds(i.At.Sub(t).Seconds()) + " ago"
}

// ErrNotIngest means that another program answered.
var ErrNotIngest = errors.New("the answer is not the state of ingest")

// AskIngest asks the ingest whose ADMIN_ADDR is addr for its state, also while it starts.
func AskIngest(ctx context.Context, addr string) (state Ingest, err error) {
	answer, err := telemetry.Ask(ctx, addr, "/status")
	if err != nil {
		return Ingest{}, err
	}
	if err := json.Unmarshal(answer, &state); err != nil {
		return Ingest{}, fmt.Errorf("%w: %w", ErrNotIngest, err)
	}
	if state.StartedAt.IsZero() {
		return Ingest{}, fmt.Errorf("%w: it has no start time", ErrNotIngest)
	}
	return state, nil
}

// Log is the state of the log.
type Log struct {
	LogID      string              `json:"log_id"`
	Partitions int                 `json:"partitions"`
	First      uint64              `json:"first_seq"`
	Head       uint64              `json:"head"`
	Replicas   int                 `json:"replicas"`
	Current    int                 `json:"replicas_current"` // of these, that have what the leader has
	Durability eventlog.Durability `json:"durability"`       // of an event that was answered 200
}

// LogOf returns the state that info describes.
func LogOf(info eventlog.Info) Log {
	return Log{info.LogID, info.Partitions, info.First, info.Last, info.Replicas, info.Current, info.Durability}
}

// ReplicasText tells how many replicas the log has, how many of them are current, and how durable an event is when
// it is answered 200.
func (l Log) ReplicasText() string {
	switch l.Durability {
	case eventlog.Fsynced:
		return fmt.Sprintf("%d, fsynced before the answer", l.Replicas)
	case eventlog.Quorum:
		text := fmt.Sprintf("%d, a quorum of which has every event that was answered 200", l.Replicas)
		if l.Current < l.Replicas {
			text += fmt.Sprintf("; WARNING: only %d are current, the others are behind or away", l.Current)
		}
		return text
	default:
		return fmt.Sprintf("%d: WARNING: a power cut of its server may lose events that were answered 200, unless the server sets sync_interval: always", l.Replicas)
	}
}
