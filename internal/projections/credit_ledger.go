package projections

import (
	"cmp"
	"iter"
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

// Credits has the sums of a user's credit packs, the ledger lines of kind one_time. Balance is
// Granted minus Reversed. It may be below zero.
type Credits struct {
	UserID    string `db:"user_id,key"`
	Balance   int64  `db:"balance"`
	Granted   int64  `db:"granted"`
	Reversed  int64  `db:"reversed"`
	StreamSeq int64  `db:"stream_seq"`
}

// maxBalance bounds what one user is granted, so that no sum overflows 64 bits.
const maxBalance = 1 << 62

// The entries, besides those of reversals (see Reversal.Cause).
const (
	entryGrant = "grant"
	// A correction takes back credits that were granted in excess (its delta is below zero), or
	// gives back credits that were reversed in excess (above zero).
	entryCorrection = "correction"
)

// Ledger has the loaded lines of the payments that a fold can touch, and the lines it adds.
type Ledger struct {
	lines  []ledgerEntry      // loaded and new lines
	newest map[string]int     // payment → index of its last line in lines, plus 1
	last   map[numbered]int64 // number of the last line
	added  []LedgerLine
}

// numbered is what has consecutive line numbers: an event's lines of its own payment, or those of other payments.
type numbered struct {
	event  string
	others bool
}

// An event's lines of other payments begin after this number. If a later event writes another line under an earlier one,
// it knows only the lines of that event's own payment, so it must not use the numbers of the others. The own payment has
// a few lines for each event that changes it.
const beforeOthers = 1_000_000

type ledgerEntry struct {
	LedgerLine
	before int // index of the payment's previous line, plus 1; 0 if there is none
}

// Load adds a line of the database. The line must not be loaded yet.
func (l *Ledger) Load(line *LedgerLine) {
	if l.newest == nil {
		l.newest, l.last = map[string]int{}, map[numbered]int64{}
	}
	l.lines = append(l.lines, ledgerEntry{*line, l.newest[line.ProviderPaymentID]})
	l.newest[line.ProviderPaymentID] = len(l.lines)
	key := numbered{line.EventID, line.Line > beforeOthers}
	l.last[key] = max(l.last[key], line.Line)
}

// Inserted lists the new lines.
func (l *Ledger) Inserted() []LedgerLine { return l.added }

// Lines lists all lines, in no order.
func (l *Ledger) Lines() []LedgerLine {
	all := make([]LedgerLine, len(l.lines))
	for i := range l.lines {
		all[i] = l.lines[i].LedgerLine
	}
	return all
}

func (l *Ledger) clear() {
	clear(l.lines)
	l.lines = l.lines[:0]
	clear(l.newest)
	clear(l.last)
	l.added = make([]LedgerLine, 0, len(l.added))
}

// add numbers the line within its event.
func (l *Ledger) add(line *LedgerLine, by ledgerEvent) {
	line.Line = l.last[numbered{by.eventID, by.others}] + 1
	if by.others {
		line.Line = max(line.Line, beforeOthers+1)
	}
	l.Load(line)
	l.added = append(l.added, *line)
}

// of yields the lines of a payment, in no order.
func (l *Ledger) of(p *Payment) iter.Seq[*LedgerLine] {
	return func(yield func(*LedgerLine) bool) {
		for _, id := range p.ids() {
			for at := l.newest[id]; at != 0; at = l.lines[at-1].before {
				if !yield(&l.lines[at-1].LedgerLine) {
					return
				}
			}
		}
	}
}

// has reports whether the payment has any line.
func (l *Ledger) has(p *Payment) bool {
	for range l.of(p) {
		return true
	}
	return false
}

// sums returns what the payment has granted to its present user under its present kind, and how
// much of that is reversed.
func (l *Ledger) sums(p *Payment) (granted, reversed int64) {
	for line := range l.of(p) {
		switch {
		case line.UserID != p.UserID || line.Kind != p.Kind:
		case line.Entry == entryGrant, line.Entry == entryCorrection && line.Delta < 0:
			granted += line.Delta
		default:
			reversed -= line.Delta
		}
	}
	return granted, reversed
}

// remainder is a grant line, with the credits that are left of it and those that are reversed.
type remainder struct {
	LedgerLine
	left, reversed int64
}

// remaining lists the payment's grant lines for its present user and kind, the latest available
// first.
func (l *Ledger) remaining(p *Payment) []remainder {
	var grants []remainder
	for line := range l.of(p) {
		if line.Entry == entryGrant && line.UserID == p.UserID && line.Kind == p.Kind {
			grants = append(grants, remainder{*line, line.Delta, 0})
		}
	}
	for line := range l.of(p) {
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
	slices.SortFunc(grants, func(a, b remainder) int {
		return cmp.Or(b.AvailableAt.Compare(a.AvailableAt), cmp.Compare(b.StreamSeq, a.StreamSeq), cmp.Compare(b.EventID, a.EventID), cmp.Compare(b.Line, a.Line))
	})
	return grants
}

// ledgerEvent is the event under which a ledger line is written.
type ledgerEvent struct {
	eventID    string
	occurredAt time.Time
	seq        int64
	others     bool // the event is a claim of another payment
}

// share returns the credits of one of n lines. If the credits do not divide evenly, because they
// came later under another offer, each of the first lines gets one more.
func share(credits, line, n int64) int64 {
	if line < credits%n {
		return credits/n + 1
	}
	return credits / n
}

// addMonths returns the same day and time that many months later, or the last day of the month
// if the month is shorter.
func addMonths(t time.Time, months int64) time.Time {
	if months == 0 { // nearly always
		return t
	}
	first := time.Date(t.Year(), t.Month()+time.Month(months), 1, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
	lastDay := first.AddDate(0, 1, -1).Day()
	return first.AddDate(0, 0, min(t.Day(), lastDay)-1)
}
