package projections

import (
	"slices"
)

// writeLedger adds the lines that the ledger lacks, so that the payment has these grants and its reversals have taken
// back their share. New grants are written under the event by, corrections under the event now, and each reversal under
// its own event.
func (s *State) writeLedger(p *Payment, grants []due, by, now ledgerEvent) {
	total := totalOf(grants)
	s.correct(p, grants, now)
	have := s.Ledger.grants(p.ProviderPaymentID)
	granted, reversed := sums(have)
	if len(have) == 0 {
		for i := range grants {
			s.grant(p, grants[i], by)
		}
		granted = total
	}
	reversals := s.reversalsFor(p)
	all := takenBy(reversals, p)
	if excess := reversed - all.of(total); excess > 0 {
		s.giveBack(p, excess, now)
		reversed -= excess
	}
	if granted > total {
		s.take(p, granted-total, entryCorrection, now)
	}
	if granted < total {
		more := grants[0]
		more.credits = total - granted
		s.grant(p, more, now)
	}
	soFar := newTaken(p)
	soFar.paid, soFar.ofPayment = all.paid, all.ofPayment
	for _, reversal := range all.counting(reversals) {
		soFar.add(reversal)
		if step := min(soFar.of(total), all.of(total)) - reversed; step > 0 {
			s.take(p, step, reversal.Cause, ledgerEvent{reversal.EventID, reversal.OccurredAt, reversal.StreamSeq})
			reversed += step
		}
	}
}

// correct takes back all grants of the payment if they are of another user or kind, or of other months, or if one of
// several months changes. Otherwise some months would have too much, and others nothing.
func (s *State) correct(p *Payment, grants []due, now ledgerEvent) {
	have := s.Ledger.grants(p.ProviderPaymentID)
	if len(have) == 0 || fits(p, have, grants) {
		return
	}
	for i := range have {
		if have[i].reversed > 0 {
			s.addLine(&have[i].LedgerLine, entryCorrection, have[i].reversed, now)
		}
		s.addLine(&have[i].LedgerLine, entryCorrection, -have[i].left-have[i].reversed, now)
	}
}

// fits reports whether the payment has these grants, except that the credits of a single one can differ.
func fits(p *Payment, have []grant, grants []due) bool {
	at := 0
	for len(grants) > 1 && at < len(grants) && grants[at].credits == 0 { // earlier payments of the period have granted this month
		if sameMonth(have[0].AvailableAt, grants[at].availableAt) {
			return false
		}
		at++
	}
	for i := 0; i < len(have); at++ {
		sum, first := int64(0), have[i]
		for ; i < len(have) && sameMonth(have[i].AvailableAt, first.AvailableAt); i++ {
			if have[i].UserID != p.UserID || have[i].Kind != p.Kind || !sameMonth(have[i].ExpiresAt, first.ExpiresAt) {
				return false
			}
			sum += have[i].left + have[i].reversed
		}
		if at >= len(grants) || !sameMonth(grants[at].availableAt, first.AvailableAt) || !grants[at].expiresAt(first.ExpiresAt) ||
			sum != grants[at].credits && len(grants) > 1 {
			return false
		}
	}
	return at == len(grants)
}

func sums(grants []grant) (granted, reversed int64) {
	for i := range grants {
		granted += grants[i].left + grants[i].reversed
		reversed += grants[i].reversed
	}
	return granted, reversed
}

func (s *State) grant(p *Payment, one due, by ledgerEvent) {
	if one.credits == 0 {
		return
	}
	s.addLine(&LedgerLine{
		ProviderPaymentID: p.ProviderPaymentID, UserID: p.UserID, Kind: p.Kind,
		AvailableAt: one.availableAt, ExpiresAt: one.expires,
	}, entryGrant, one.credits, by)
}

// take writes lines that take back that many credits of the payment's grants, the latest available first.
func (s *State) take(p *Payment, credits int64, entry string, by ledgerEvent) {
	for _, g := range slices.Backward(s.Ledger.grants(p.ProviderPaymentID)) {
		if part := min(credits, g.left); part > 0 {
			s.addLine(&g.LedgerLine, entry, -part, by)
			credits -= part
		}
	}
}

// giveBack writes lines that give back what was reversed, the earliest available first. So a refund that turns out to be
// smaller leaves the same months as the smaller one.
func (s *State) giveBack(p *Payment, credits int64, by ledgerEvent) {
	for _, g := range s.Ledger.grants(p.ProviderPaymentID) {
		if part := min(credits, g.reversed); part > 0 {
			s.addLine(&g.LedgerLine, entryCorrection, part, by)
			credits -= part
		}
	}
}

// addLine adds a line for a grant, or one that changes the grant of, and adds it to the user's sums.
func (s *State) addLine(of *LedgerLine, entry string, delta int64, by ledgerEvent) {
	line := LedgerLine{
		ProviderPaymentID: of.ProviderPaymentID, UserID: of.UserID, Kind: of.Kind, Entry: entry, Delta: delta,
		AvailableAt: of.AvailableAt, ExpiresAt: of.ExpiresAt, EventID: by.eventID, OccurredAt: by.occurredAt, StreamSeq: by.seq,
	}
	if of.Line != 0 {
		reverses := of.Line
		line.ReversesLine = &reverses
	}
	s.Ledger.add(&line)
	if line.Kind != KindOneTime || !line.ExpiresAt.IsZero() {
		return
	}
	have := s.Credits.change(line.UserID)
	have.UserID = line.UserID
	if entry == entryGrant || entry == entryCorrection && delta < 0 {
		have.Granted += delta
	} else {
		have.Reversed -= delta
	}
	have.Balance = have.Granted - have.Reversed
	s.nearlyFull = s.nearlyFull || have.nearlyFull()
	have.StreamSeq = max(have.StreamSeq, by.seq)
}

// canGrant reports whether the user's sums can hold what the payment grants.
func (s *State) canGrant(p *Payment) bool {
	if !s.nearlyFull || p.Kind != KindOneTime || p.Credits == nil || p.UserID == "" {
		return true
	}
	have, _ := s.Credits.Get(p.UserID)
	granted := int64(0)
	for _, g := range s.Ledger.grants(p.ProviderPaymentID) {
		if g.UserID == p.UserID && g.Kind == p.Kind {
			granted += g.left + g.reversed
		}
	}
	return have.Granted <= maxBalance-max(0, *p.Credits-granted)
}
