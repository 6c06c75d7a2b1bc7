package projections

import "time"

// maxCredits bounds one line of a grant, before and after multiplication by the units.
const maxCredits = 1_000_000_000_000

// grantable returns the credits that the event's payment grants in all; nil for none. A licence
// grants none. If there is a catalogue, the credits come only from its offer.
func (r Rules) grantable(f *facts, kind Kind, offer *Offer) (*int64, error) {
	if f.Amount.Bad || f.Amount.Value < 0 {
		return nil, rejection(OutOfRange)
	}
	credits, lines := f.Credits, int64(1)
	if r.Catalogue != nil {
		credits = offer.credits()
		lines = offer.lines()
	}
	if kind == KindPro || !credits.Present {
		return nil, nil
	}
	units := int64(1)
	if f.Units.Present {
		units = f.Units.Value
	}
	inRange := func(n int64) bool { return n >= 1 && n <= maxCredits }
	if credits.Bad || f.Units.Bad || !inRange(credits.Value) || !inRange(units) || units > maxCredits/credits.Value {
		return nil, rejection(OutOfRange)
	}
	total := credits.Value * units * lines
	return &total, nil
}

// ledgerEvent is the event under which a ledger line is written.
type ledgerEvent struct {
	eventID    string
	occurredAt time.Time
	seq        int64
}

// grant writes the ledger lines of credits that a payment grants. Those of a credit pack are
// also added to the user's balance.
func (s *State) grant(p Payment, credits int64, by ledgerEvent) {
	lines := min(max(p.GrantLines, 1), credits)
	for month := range lines {
		available := addMonths(by.occurredAt, month)
		line := LedgerLine{
			EventID: by.eventID, UserID: p.UserID, Kind: p.Kind, Entry: entryGrant,
			Delta: share(credits, month, lines), ProviderPaymentID: p.ProviderPaymentID,
			AvailableAt: available, OccurredAt: by.occurredAt, StreamSeq: by.seq,
		}
		if p.ValidMonths > 0 {
			line.ExpiresAt = addMonths(available, p.ValidMonths)
		}
		s.Ledger.add(line)
	}
	if p.Kind == KindOneTime {
		s.addCredits(p.UserID, credits, 0, by.seq)
	}
}

// share returns the credits of one of n lines. Credits that do not divide evenly, because they
// came later under another offer, give the first lines one more.
func share(credits, line, n int64) int64 {
	if line < credits%n {
		return credits/n + 1
	}
	return credits / n
}

// addMonths returns the same day and time that many months later, or the last day of the month
// if the month is shorter.
func addMonths(t time.Time, months int64) time.Time {
	first := time.Date(t.Year(), t.Month()+time.Month(months), 1, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
	lastDay := first.AddDate(0, 1, -1).Day()
	return first.AddDate(0, 0, min(t.Day(), lastDay)-1)
}
