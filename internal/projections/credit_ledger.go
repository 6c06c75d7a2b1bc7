package projections

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// LedgerLine is one entry of the credit ledger. Lines are only added, never changed.
type LedgerLine struct {
	EventID           string    `db:"event_id,key"`
	Line              int64     `db:"line,key"`
	UserID            string    `db:"user_id"`
	Kind              string    `db:"kind"`
	Entry             string    `db:"entry"`
	Delta             int64     `db:"delta"`
	ProviderPaymentID string    `db:"provider_payment_id"`
	ReversesEventID   string    `db:"reverses_event_id"`
	ReversesLine      *int64    `db:"reverses_line"`
	AvailableAt       time.Time `db:"available_at"`
	ExpiresAt         time.Time `db:"expires_at"`
	OccurredAt        time.Time `db:"occurred_at"`
	StreamSeq         int64     `db:"stream_seq"`
}

// The entries, besides those of reversals (see causes).
const (
	entryGrant = "grant"
	// A correction takes back what was granted too much (below zero), or gives back what was
	// reversed too much (above zero).
	entryCorrection = "correction"
)

// Ledger has the loaded lines of the payments that a fold can touch, and the lines it adds.
type Ledger struct {
	lines map[string][]LedgerLine // by payment; loaded and new ones
	next  map[string]int64        // by event: the number of its last line
	added []LedgerLine
}

// Load adds a line of the database.
func (l *Ledger) Load(line LedgerLine) { l.put(line) }

// Inserted lists the new lines.
func (l *Ledger) Inserted() []LedgerLine { return l.added }

// Lines lists all lines, in no order.
func (l *Ledger) Lines() []LedgerLine { return slices.Concat(slices.Collect(maps.Values(l.lines))...) }

func (l *Ledger) clear() {
	clear(l.lines)
	clear(l.next)
	l.added = make([]LedgerLine, 0, len(l.added))
}

func (l *Ledger) put(line LedgerLine) {
	if l.lines == nil {
		l.lines, l.next = map[string][]LedgerLine{}, map[string]int64{}
	}
	l.lines[line.ProviderPaymentID] = append(l.lines[line.ProviderPaymentID], line)
	l.next[line.EventID] = max(l.next[line.EventID], line.Line)
}

// add numbers the line within its event.
func (l *Ledger) add(line LedgerLine) {
	line.Line = l.next[line.EventID] + 1
	l.put(line)
	l.added = append(l.added, line)
}

// sums returns what the payment has granted to its present user under its present kind, and how
// much of that is reversed.
func (s *State) sums(p Payment) (granted, reversed int64) {
	for _, id := range p.ids() {
		for _, line := range s.Ledger.lines[id] {
			switch {
			case line.UserID != p.UserID || line.Kind != p.Kind:
			case line.Entry == entryGrant, line.Entry == entryCorrection && line.Delta < 0:
				granted += line.Delta
			default:
				reversed -= line.Delta
			}
		}
	}
	return granted, reversed
}

// remainder is a grant line with what is left of it and what is reversed of it.
type remainder struct {
	LedgerLine
	left, reversed int64
}

// remaining lists the payment's grant lines for its present user and kind, the latest available
// first.
func (s *State) remaining(p Payment) []remainder {
	var grants []remainder
	for _, id := range p.ids() {
		for _, line := range s.Ledger.lines[id] {
			if line.Entry == entryGrant && line.UserID == p.UserID && line.Kind == p.Kind {
				grants = append(grants, remainder{line, line.Delta, 0})
			}
		}
	}
	for _, id := range p.ids() {
		for _, line := range s.Ledger.lines[id] {
			for i := range grants {
				if line.ReversesEventID != grants[i].EventID || *line.ReversesLine != grants[i].Line {
					continue
				}
				grants[i].left += line.Delta
				if line.Entry != entryCorrection || line.Delta > 0 {
					grants[i].reversed -= line.Delta
				}
			}
		}
	}
	slices.SortFunc(grants, func(a, b remainder) int {
		return cmp.Or(b.AvailableAt.Compare(a.AvailableAt), cmp.Compare(b.StreamSeq, a.StreamSeq), cmp.Compare(b.EventID, a.EventID), cmp.Compare(b.Line, a.Line))
	})
	return grants
}

// take writes lines that take back that many credits of the payment's grants, the latest
// available first. If credits is below zero, the lines give back what was reversed.
func (s *State) take(p Payment, credits int64, entry string, by ledgerEvent) {
	if credits == 0 {
		return
	}
	for _, grant := range s.remaining(p) {
		part := min(credits, grant.left)
		if credits < 0 {
			part = -min(-credits, grant.reversed)
		}
		if part == 0 {
			continue
		}
		credits -= part
		line := grant.Line
		s.Ledger.add(LedgerLine{
			EventID: by.eventID, UserID: p.UserID, Kind: p.Kind, Entry: entry, Delta: -part,
			ProviderPaymentID: grant.ProviderPaymentID, ReversesEventID: grant.EventID, ReversesLine: &line,
			AvailableAt: grant.AvailableAt, ExpiresAt: grant.ExpiresAt,
			OccurredAt: by.occurredAt, StreamSeq: by.seq,
		})
		switch {
		case p.Kind != KindOneTime:
		case entry == entryCorrection && part > 0:
			s.addCredits(p.UserID, -part, 0, by.seq)
		default:
			s.addCredits(p.UserID, 0, part, by.seq)
		}
	}
}
