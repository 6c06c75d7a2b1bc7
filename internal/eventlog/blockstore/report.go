package blockstore

import (
	"fmt"
	"strings"
)

// Report is the result of a Check.
type Report struct {
	Stream     string   `json:"stream"`
	LogID      string   `json:"log_id,omitempty"` // empty: there is no stream yet
	Partitions int      `json:"partitions,omitempty"`
	Begin      uint64   `json:"-"` // sequence of the log's first message, also if it was trimmed
	First      uint64   `json:"first_seq"`
	Last       uint64   `json:"last_seq"` // one less than First if the log is empty
	Events     uint64   `json:"events"`   // undamaged messages
	Blocks     int      `json:"blocks"`
	Bytes      int64    `json:"bytes"`
	Durable    *uint64  `json:"durable_seq,omitempty"` // the durable watermark; nil if there is none
	Closed     bool     `json:"closed"`                // the log was closed in order
	Restoring  bool     `json:"restoring,omitempty"`   // a restore has not ended: messages are missing
	Damage     []Damage `json:"damage,omitempty"`
	TornTail   *Tail    `json:"unconfirmed,omitempty"`
	firstBlock int      // the block that begins with First; 0 if the log was never trimmed
}

// Damage is one part of a log that differs from what was written.
type Damage struct {
	File   string `json:"file"`
	Offset int    `json:"offset"`
	Bytes  int    `json:"bytes"`
	From   uint64 `json:"from_seq,omitempty"` // first sequence that cannot be read; 0 if there is none
	To     uint64 `json:"to_seq,omitempty"`   // last sequence that cannot be read; 0 if From and all later ones are lost
	Reason string `json:"reason"`
	Advice string `json:"advice"`
}

// Tail is the end of a log that a kill or a power cut has torn. Nothing in it was confirmed. The
// next start of ingest moves it into files log/unconfirmed-….
type Tail struct {
	File   string   `json:"file"`
	Offset int      `json:"offset"`
	Bytes  int      `json:"bytes"`
	Newer  []string `json:"newer_files,omitempty"` // later blocks
}

// adviceRestore names the steps in their order: ingest check finds the log only where it is, and
// ingest restore refuses a folder with a log.
const adviceRestore = "ingest check lists all damage, and with --salvage it saves the undamaged events; then move DATA_DIR/log away, and restore the log from its archive (ingest restore) or from a backup"

const adviceLost = "move DATA_DIR/log away, and restore the log from its archive (ingest restore) or from a backup; if there is neither, docs/lost-log.md says how to begin another"

const adviceFormat = "use the build that wrote this log"

// adviceAccept is the advice for a log that does not match its watermark.
func (s *Store) adviceAccept() string {
	return "if the log was restored on purpose, remove " + s.watermarkPath() + " and start again; otherwise " + adviceRestore
}

// String describes the damage in one line.
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

// DamagedError says why a log must not be opened. No file was changed.
type DamagedError struct{ Report *Report }

// MaxNamed is how much damage a message names.
const MaxNamed = 5

func (e *DamagedError) Error() string {
	var out strings.Builder
	out.WriteString("the log is not opened, and nothing in it was changed:")
	for n, d := range e.Report.Damage {
		if n == MaxNamed {
			fmt.Fprintf(&out, "\n  and %d more", len(e.Report.Damage)-n)
			break
		}
		fmt.Fprintf(&out, "\n  %s", d)
	}
	fmt.Fprintf(&out, "\nWhat to do: %s.", e.Report.Damage[0].Advice)
	return out.String()
}
