package projections

import "time"

// maxCredits bounds one line of a grant, before and after multiplication by the units.
const maxCredits = 1_000_000_000_000

// grantable is the credits the event's payment grants in all, nil for none. A
// licence grants none. With a catalogue they come from its offer alone.
func (r Rules) grantable(f *facts, kind Kind, offer *Offer) (*int64, error) {
	if f.Amount.Bad || f.Amount.Value < 0 {
		return nil, refused(OutOfRange)
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
		return nil, refused(OutOfRange)
	}
	total := credits.Value * units * lines
	return &total, nil
}

// granting is the event a ledger line is written under.
type granting struct {
	eventID    string
	occurredAt time.Time
	seq        int64
}

// grant writes the ledger lines of credits that a payment grants and, for a credit
// pack, adds them to the user's balance.
func (s *State) grant(p Payment, credits int64, by granting) {
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

// share is the part of one of n lines. Offers divide evenly; a payment whose
// credits came later, under another offer, may not: then the first lines have one
// more.
func share(credits, line, n int64) int64 {
	if line < credits%n {
		return credits/n + 1
	}
	return credits / n
}

// addMonths is the same day and time that many months later, or the last day of
// a month that is too short.
func addMonths(t time.Time, months int64) time.Time {
	first := time.Date(t.Year(), t.Month()+time.Month(months), 1, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
	lastDay := first.AddDate(0, 1, -1).Day()
	return first.AddDate(0, 0, min(t.Day(), lastDay)-1)
}
