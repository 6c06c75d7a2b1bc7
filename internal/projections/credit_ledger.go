package projections

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// LedgerLine is one entry of the credit ledger; lines are only ever added.
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

const entryGrant = "grant"

// Ledger is the lines of the payments a fold may see, and those it adds.
type Ledger struct {
	lines map[string][]LedgerLine // by payment, those of the database and the new ones
	next  map[string]int64        // by event, the last line it has
	added []LedgerLine
}

// Load puts a line as the database has it.
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

// sums is what the payment granted, and how much of it is reversed.
func (l *Ledger) sums(p Payment) (granted, reversed int64) {
	for _, line := range l.lines[p.ProviderPaymentID] {
		if line.Entry == entryGrant {
			granted += line.Delta
		} else {
			reversed -= line.Delta
		}
	}
	return granted, reversed
}

// remainder is a grant line and what is not reversed of it.
type remainder struct {
	LedgerLine
	left int64
}

// remaining lists the payment's grant lines, the latest available first.
func (l *Ledger) remaining(p Payment) []remainder {
	var grants []remainder
	for _, line := range l.lines[p.ProviderPaymentID] {
		if line.Entry == entryGrant {
			grants = append(grants, remainder{line, line.Delta})
		}
	}
	for _, line := range l.lines[p.ProviderPaymentID] {
		for i := range grants {
			if line.ReversesEventID == grants[i].EventID && *line.ReversesLine == grants[i].Line {
				grants[i].left += line.Delta
			}
		}
	}
	slices.SortFunc(grants, func(a, b remainder) int {
		return cmp.Or(b.AvailableAt.Compare(a.AvailableAt), cmp.Compare(b.Line, a.Line))
	})
	return grants
}
