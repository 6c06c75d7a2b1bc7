package projections

import "slices"

// writeLedger writes the ledger lines that are missing, and stores in the payment what its
// reversals take back. The credits that the ledger must show depend only on the payment and its
// reversals. Grants are written under the event by, corrections under the event now, and each
// reversal under its own event, in the order of the log. If the lines have other months than those of
// the payment's offer, or the credits of a drip change, all are taken back and granted anew under the
// event again. Otherwise some months would have too much, and others nothing.
func (s *State) writeLedger(p *Payment, by, again, now ledgerEvent, otherMonths bool) {
	reversals := s.reversalsFor(p)
	all := takenBy(reversals, p)
	counting := slices.DeleteFunc(slices.Clone(reversals), func(r Reversal) bool { return !all.counts(&r) })
	if len(reversals) > 0 {
		p.RefundedAmount, p.ReversedAt = all.amount(), all.reversedAt(counting, p)
		s.putPayment(p)
	}
	s.undoFormerGrants(p, now)
	due := p.creditsDue()
	granted, reversed := s.Ledger.sums(p)
	if granted > 0 && (otherMonths || granted != due && p.GrantLines > 1) {
		s.takeBack(p, now)
		granted, reversed, by = 0, 0, again
	}
	if excess := reversed - all.of(due); excess > 0 {
		s.take(p, -excess, entryCorrection, now)
		reversed -= excess
	}
	if granted > due {
		s.take(p, granted-due, entryCorrection, now)
	}
	if granted < due {
		s.grant(p, due-granted, by)
	}
	soFar := newTaken(p)
	soFar.paid, soFar.ofPayment = all.paid, all.ofPayment
	for _, reversal := range counting {
		soFar.add(reversal)
		if step := min(soFar.of(due), all.of(due)) - reversed; step > 0 {
			s.take(p, step, reversal.Cause, ledgerEvent{reversal.EventID, reversal.OccurredAt, reversal.StreamSeq, false})
			reversed += step
		}
	}
}

// undoFormerGrants takes back all credits that were granted to another user or under another kind,
// before more was known of the payment.
func (s *State) undoFormerGrants(p *Payment, now ledgerEvent) {
	if !s.Ledger.has(p) {
		return
	}
	for _, user := range []string{p.user(), p.OtherUserID} {
		for _, kind := range []Kind{KindSubscription, KindOneTime} {
			if user == "" || user == p.UserID && kind == p.Kind {
				continue
			}
			was := *p
			was.UserID, was.Kind = user, kind
			s.takeBack(&was, now)
		}
	}
}

// takeBack takes back all credits that were granted to the payment's user under its kind.
func (s *State) takeBack(p *Payment, now ledgerEvent) {
	granted, reversed := s.Ledger.sums(p)
	s.take(p, -reversed, entryCorrection, now)
	s.take(p, granted, entryCorrection, now)
}

// grant writes the ledger lines of credits that a payment grants. The credits of a credit pack are
// also added to the user's balance.
func (s *State) grant(p *Payment, credits int64, by ledgerEvent) {
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
		s.Ledger.add(&line, by)
	}
	if p.Kind == KindOneTime {
		s.addCredits(p.UserID, credits, 0, by.seq)
	}
}

// take writes lines that take back that many credits of the payment's grants, the latest
// available first. If credits is below zero, the lines give back what was reversed, the earliest
// available first. So a refund that turns out to be smaller leaves the same months as the smaller one.
func (s *State) take(p *Payment, credits int64, entry string, by ledgerEvent) {
	if credits == 0 {
		return
	}
	grants := s.Ledger.remaining(p)
	if credits < 0 {
		slices.Reverse(grants)
	}
	for _, grant := range grants {
		part := min(credits, grant.left)
		if credits < 0 {
			part = -min(-credits, grant.reversed)
		}
		if part == 0 {
			continue
		}
		credits -= part
		line := grant.Line
		s.Ledger.add(&LedgerLine{
			EventID: by.eventID, UserID: p.UserID, Kind: p.Kind, Entry: entry, Delta: -part,
			ProviderPaymentID: grant.ProviderPaymentID, ReversesEventID: grant.EventID, ReversesLine: &line,
			AvailableAt: grant.AvailableAt, ExpiresAt: grant.ExpiresAt,
			OccurredAt: by.occurredAt, StreamSeq: by.seq,
		}, by)
		switch {
		case p.Kind != KindOneTime:
		case entry == entryCorrection && part > 0:
			s.addCredits(p.UserID, -part, 0, by.seq)
		default:
			s.addCredits(p.UserID, 0, part, by.seq)
		}
	}
}

// addCredits adds to the user's sums.
func (s *State) addCredits(user string, granted, reversed, seq int64) {
	have := s.Credits.change(user)
	have.UserID = user
	have.Granted += granted
	have.Reversed += reversed
	have.Balance = have.Granted - have.Reversed
	have.StreamSeq = max(have.StreamSeq, seq)
}

// canGrant reports whether the user's sums can hold what the payment grants.
func (s *State) canGrant(p *Payment) bool {
	if p.Kind != KindOneTime || p.Credits == nil {
		return true
	}
	have, _ := s.Credits.Get(p.user())
	granted, _ := s.Ledger.sums(p)
	return have.Granted <= maxBalance-max(0, *p.Credits-granted)
}
