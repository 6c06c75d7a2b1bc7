package projections

import (
	"cmp"
	"iter"
	"slices"
	"time"
)

// LedgerLine is one entry of the credit ledger. Lines are only added, never changed.
type LedgerLine struct {
	ProviderPaymentID string    `db:"provider_payment_id,key"`
	Line              int64     `db:"line,key"` // of the payment, from 1
	UserID            string    `db:"user_id"`
	Kind              string    `db:"kind"`
	Entry             string    `db:"entry"`
	Delta             int64     `db:"delta"`
	ReversesLine      *int64    `db:"reverses_line"` // the grant that it takes back, or gives back
	AvailableAt       time.Time `db:"available_at"`
	ExpiresAt         time.Time `db:"expires_at"`
	EventID           string    `db:"event_id"`
	OccurredAt        time.Time `db:"occurred_at"`
	StreamSeq         int64     `db:"stream_seq"`
}

// Credits has the sums of a user's credit packs that never expire: the ledger lines of kind one_time without ExpiresAt.
// Balance is Granted minus Reversed. It may be below zero.
type Credits struct {
	UserID    string `db:"user_id,key"`
	Balance   int64  `db:"balance"`
	Granted   int64  `db:"granted"`
	Reversed  int64  `db:"reversed"`
	StreamSeq int64  `db:"stream_seq"`
}

// maxBalance bounds what one user is granted, so that no sum overflows 64 bits.
const maxBalance = 1 << 62

// nearlyFull reports whether the sums may not hold what one more payment grants, which is far less than maxBalance / 2.
func (c *Credits) nearlyFull() bool { return c.Granted > maxBalance/2 }

// The entries, besides those of reversals (see Reversal.Cause).
const (
	entryGrant = "grant"
	// A correction takes back credits that were granted in excess (its delta is below zero), or
	// gives back credits that were reversed in excess (above zero).
	entryCorrection = "correction"
)

// Ledger has the loaded lines of the payments that a fold can touch, and the lines it adds.
type Ledger struct {
	lines  []ledgerEntry  // loaded and new lines
	newest map[string]int // payment → index of its last line in lines, plus 1
	count  map[string]int64
	added  []LedgerLine
}

type ledgerEntry struct {
	LedgerLine
	before int // index of the payment's previous line, plus 1; 0 if there is none
}

// Load adds a line of the database. If it is already here, nothing changes.
func (l *Ledger) Load(line *LedgerLine) {
	for here := range l.of(line.ProviderPaymentID) {
		if here.Line == line.Line {
			return
		}
	}
	l.put(line)
}

func (l *Ledger) put(line *LedgerLine) {
	if l.newest == nil {
		l.newest, l.count = map[string]int{}, map[string]int64{}
	}
	l.lines = append(l.lines, ledgerEntry{*line, l.newest[line.ProviderPaymentID]})
	l.newest[line.ProviderPaymentID] = len(l.lines)
	l.count[line.ProviderPaymentID] = max(l.count[line.ProviderPaymentID], line.Line)
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
	clear(l.count)
	l.added = l.added[:0]
}

// add numbers the line within its payment.
func (l *Ledger) add(line *LedgerLine) {
	line.Line = l.count[line.ProviderPaymentID] + 1
	l.put(line)
	l.added = append(l.added, *line)
}

// of yields the lines of a payment, in no order.
func (l *Ledger) of(payment string) iter.Seq[*LedgerLine] {
	return func(yield func(*LedgerLine) bool) {
		for at := l.newest[payment]; at != 0; at = l.lines[at-1].before {
			if !yield(&l.lines[at-1].LedgerLine) {
				return
			}
		}
	}
}

// grant is a grant line, with the credits that are left of it and those that reversals have taken back. Corrections are
// not counted: a grant that was corrected to nothing has neither.
type grant struct {
	LedgerLine
	left, reversed int64
}

// grants lists the payment's grants that are not corrected to nothing, the earliest available first.
func (l *Ledger) grants(payment string) []grant {
	var all []grant
	for line := range l.of(payment) {
		if line.Entry == entryGrant {
			all = append(all, grant{*line, line.Delta, 0})
		}
	}
	for line := range l.of(payment) {
		i := slices.IndexFunc(all, func(g grant) bool { return line.ReversesLine != nil && *line.ReversesLine == g.Line })
		if i < 0 {
			continue
		}
		all[i].left += line.Delta
		if line.Entry != entryCorrection || line.Delta > 0 {
			all[i].reversed -= line.Delta
		}
	}
	all = slices.DeleteFunc(all, func(g grant) bool { return g.left == 0 && g.reversed == 0 })
	slices.SortFunc(all, func(a, b grant) int {
		return cmp.Or(a.AvailableAt.Compare(b.AvailableAt), cmp.Compare(a.Line, b.Line))
	})
	return all
}

// ledgerEvent is the event under which a ledger line is written.
type ledgerEvent struct {
	eventID    string
	occurredAt time.Time
	seq        int64
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
