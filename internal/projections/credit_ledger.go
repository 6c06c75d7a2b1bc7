package projections

import "time"

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

// maxCredits bounds one grant, before and after multiplication by the units.
const maxCredits = 1_000_000_000_000

// grantable is the credits the event grants, nil for none. A licence grants none.
func grantable(f *facts) (*int64, error) {
	if f.Amount.Bad || f.Amount.Value < 0 {
		return nil, refused(OutOfRange)
	}
	if f.kind == KindPro || !f.Credits.Present {
		return nil, nil
	}
	units := int64(1)
	if f.Units.Present {
		units = f.Units.Value
	}
	inRange := func(n int64) bool { return n >= 1 && n <= maxCredits }
	if f.Credits.Bad || f.Units.Bad || !inRange(f.Credits.Value) || !inRange(units) || units > maxCredits/f.Credits.Value {
		return nil, refused(OutOfRange)
	}
	total := f.Credits.Value * units
	return &total, nil
}

// grant writes the ledger line of a claimed payment and, for a credit pack, the
// user's balance. A payment without credits has no line. The line bears the
// event's own id and time; f is nil where the payment itself waited for its user.
func (s *State) grant(p Payment, eventID string, f *facts) {
	if p.Credits == nil || p.Kind == KindPro {
		return
	}
	occurredAt, seq := p.OccurredAt, p.StreamSeq
	if f != nil {
		occurredAt, seq = f.OccurredAt, int64(f.Seq)
	}
	s.Ledger = append(s.Ledger, LedgerLine{
		EventID: eventID, Line: 1, UserID: p.UserID, Kind: p.Kind, Entry: entryGrant,
		Delta: *p.Credits, ProviderPaymentID: p.ProviderPaymentID,
		AvailableAt: occurredAt, OccurredAt: occurredAt, StreamSeq: seq,
	})
	if p.Kind == KindOneTime {
		s.addCredits(p.UserID, *p.Credits, seq)
	}
}
