package blockstore

import (
	"fmt"
	"strings"
)

// Report is what a Check found.
type Report struct {
	Stream   string   `json:"stream"`
	LogID    string   `json:"log_id,omitempty"` // empty: there is no stream yet
	First    uint64   `json:"first_seq"`
	Last     uint64   `json:"last_seq"` // one less than First in a log without any event
	Events   uint64   `json:"events"`   // whole ones
	Blocks   int      `json:"blocks"`
	Bytes    int64    `json:"bytes"`
	Durable  *uint64  `json:"durable_seq,omitempty"` // the durable watermark, where there is one
	Closed   bool     `json:"closed"`                // the log was closed in order
	Damage   []Damage `json:"damage,omitempty"`
	TornTail *Tail    `json:"unconfirmed,omitempty"`
}

// Damage is one stretch of a log that is not as it was written.
type Damage struct {
	File   string `json:"file"`
	Offset int    `json:"offset"`
	Bytes  int    `json:"bytes"`
	From   uint64 `json:"from_seq,omitempty"` // the sequences that cannot be read; 0: none
	To     uint64 `json:"to_seq,omitempty"`   // 0 with a From: all that came after
	Reason string `json:"reason"`
	Advice string `json:"advice"`
}

// Tail is the end of a log that a kill or a power cut has torn. Nothing in it was
// confirmed. The next start keeps it beside the log.
type Tail struct {
	File   string   `json:"file"`
	Offset int      `json:"offset"`
	Bytes  int      `json:"bytes"`
	Newer  []string `json:"newer_files,omitempty"` // blocks behind it
	block  int
	newer  []int
}

const adviceRestore = "restore the log from a backup; ingest check lists all damage, and with --salvage it saves the events that are whole"

const adviceLost = "restore the log from a backup; where there is none, docs/operations.md says under \"When the log is lost\" how to begin another"

// adviceAccept is for a log that is not the one of its watermark.
func (s *Store) adviceAccept() string {
	return "where the log was restored on purpose, remove " + s.watermarkPath() + " and start again; else " + adviceRestore
}

// String is one line.
func (d Damage) String() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s at byte %d: ", d.File, d.Offset)
	switch {
	case d.From != 0 && d.To == 0:
		fmt.Fprintf(&out, "seq %d and all after it: ", d.From)
	case d.From != 0 && d.From == d.To:
		fmt.Fprintf(&out, "seq %d: ", d.From)
	case d.From != 0:
		fmt.Fprintf(&out, "seq %d to %d: ", d.From, d.To)
	}
	return out.String() + d.Reason
}

// DamagedError says why a log must not be opened. Nothing was changed.
type DamagedError struct{ Report *Report }

const mostNamed = 5

func (e *DamagedError) Error() string {
	var out strings.Builder
	out.WriteString("the log is not opened, and nothing in it was changed:")
	for n, d := range e.Report.Damage {
		if n == mostNamed {
			fmt.Fprintf(&out, "\n  and %d more", len(e.Report.Damage)-n)
			break
		}
		fmt.Fprintf(&out, "\n  %s", d)
	}
	fmt.Fprintf(&out, "\nWhat to do: %s.", e.Report.Damage[0].Advice)
	return out.String()
}
