package projections

import (
	"slices"
)

// derivation brings the rows up to date after an event. Its methods run once each, in the order of derive. A step reads
// only what an event said, or what an earlier step has derived.
type derivation struct {
	Rules
	*State
	step *step

	payments      []string  // to be derived
	subscriptions []touched // whose facts have changed
	grants        []claimed // the payments of periods that have changed, and those without a period
	users         []string  // whose shown subscription and licence may change
}

// derive brings up to date what follows from the facts of these payments, which are stored, and from the fact that the
// event adds to a subscription, if said is not nil.
func (r Rules) derive(s *State, f *step, payments []string, said *Fact) {
	d := derivation{Rules: r, State: s, step: f, payments: payments}
	tellers := make([]teller, len(payments))
	for i, id := range payments {
		tellers[i] = teller{id, s.Payments.find(id).Facts}
	}
	d.subscriptions = slices.DeleteFunc(r.touch(s, f, tellers, said), func(t touched) bool { return !d.putFacts(&t) })
	d.findPayments()
	for _, id := range d.payments {
		d.derivePayment(id)
	}
	d.writeGrants()
	for i := range d.subscriptions {
		d.deriveSubscription(&d.subscriptions[i])
	}
	for _, user := range d.users {
		s.chooseSubscription(user)
		if s.chooseLicense(user, f.ledgerEvent()) {
			f.licensed = true
		}
	}
}

// putFacts stores a subscription with its new facts, and reports whether something has changed. It is not derived yet.
func (d *derivation) putFacts(t *touched) bool {
	row, known := d.Subscriptions.Get(t.id)
	provider := row.Provider
	if t.id == d.step.SubscriptionID {
		provider = providerOf(provider, d.step.Provider)
	}
	if known && provider == row.Provider && slices.Equal(t.before, t.after) {
		return false
	}
	row.SubscriptionID, row.Provider, row.Facts = t.id, provider, t.after
	d.putSubscription(&row)
	return true
}

// findPayments adds the payments for which their subscriptions say something else than before.
func (d *derivation) findPayments() {
	for i := range d.subscriptions {
		t := &d.subscriptions[i]
		from, changed := t.was.changes(&t.is)
		if !changed {
			continue
		}
		for _, id := range d.paymentsOf[t.id].from(from) {
			d.payments = addName(d.payments, id)
		}
	}
}

// termsFor returns what its subscription says of a payment.
func (d *derivation) termsFor(p *Payment) terms {
	for i := range d.subscriptions {
		if t := &d.subscriptions[i]; t.id == p.Facts.firstSubscription() {
			return t.is
		}
	}
	return d.Rules.termsFor(d.State, p)
}

func (r Rules) termsFor(s *State, p *Payment) terms {
	if of := s.Subscriptions.find(p.Facts.firstSubscription()); of != nil {
		return r.termsOf(of.Facts)
	}
	return terms{}
}

// derivePayment stores the payment as it follows from its facts, and notes whose rows may change.
func (d *derivation) derivePayment(id string) {
	before, _ := d.Payments.Get(id)
	now, sold := d.Rules.derivePayment(before, d.termsFor(&before), d.reversalsFor(&before))
	if before.UserID == "" && !d.canGrant(&now) {
		now.UserID = ""
	}
	d.putPayment(&now)
	if before.UserID == "" && now.UserID != "" {
		d.step.claimed = true
	}
	if now.Kind == KindPro || before.Kind == KindPro {
		d.users = addName(addName(d.users, now.UserID), before.UserID)
	}
	d.grants = append(d.grants, claimed{Payment: d.Payments.find(id), sale: sold})
	for _, at := range []Period{before.Period(), now.Period()} {
		for _, other := range d.periodsOf[at] {
			d.addGrants(other)
		}
	}
}

// addGrants adds a payment whose grants may change because another one of its period has changed.
func (d *derivation) addGrants(id string) {
	p := d.Payments.find(id)
	if slices.Contains(d.payments, id) || slices.ContainsFunc(d.grants, func(c claimed) bool { return c.ProviderPaymentID == id }) {
		return
	}
	_, sold := d.Rules.derivePayment(*p, d.termsFor(p), nil)
	d.grants = append(d.grants, claimed{Payment: p, sale: sold})
}

// writeGrants brings the ledger up to date.
func (d *derivation) writeGrants() {
	for i := range d.grants {
		if same := d.samePeriod(i); same[0].Payment == d.grants[i].Payment { // otherwise its period is written already
			d.writePeriod(same)
		}
	}
}

// samePeriod returns the payments of the period of one of them.
func (d *derivation) samePeriod(i int) (all []claimed) {
	at := d.grants[i].Period()
	if at == (Period{}) {
		return d.grants[i : i+1]
	}
	for _, one := range d.grants {
		if one.Period() == at {
			all = append(all, one)
		}
	}
	return all
}

func (d *derivation) writePeriod(all []claimed) {
	for i := range all {
		if p := all[i].Payment; len(all) > 1 {
			all[i].back = takenBy(d.reversalsFor(p), p)
		}
	}
	for i, grants := range grantsOf(all) {
		p, now := *all[i].Payment, d.step.ledgerEvent()
		by := ledgerEvent{p.EventID, p.OccurredAt, p.StreamSeq}
		if p.Facts.First(func(f *Fact) bool { return f.Says == Paid && f.EventID == now.eventID }) != nil {
			by = now
		}
		d.writeLedger(&p, grants, by, now)
		if p.UserID == "" {
			continue
		}
		p.Credits = nil
		if total := totalOf(grants); total > 0 {
			p.Credits = &total
		}
		if orZero(p.Credits) != orZero(all[i].Credits) {
			d.putPayment(&p)
		}
	}
}

// deriveSubscription stores the subscription as it follows from its facts, and notes whose rows may change.
func (d *derivation) deriveSubscription(t *touched) {
	before, _ := d.Subscriptions.Get(t.id)
	now := d.Rules.deriveSubscription(before, t.is)
	d.putSubscription(&now)
	d.users = addName(addName(d.users, before.UserID), now.UserID)
	if now.Kind != KindPro || HasEnded(before.Status) == HasEnded(now.Status) {
		return
	}
	for _, one := range d.paymentsOf[t.id] {
		if p := d.Payments.find(one.id); p.Lasts {
			d.users = addName(d.users, p.UserID)
		}
	}
}

// chooseSubscription sets the subscription that the portal shows to a user.
func (s *State) chooseSubscription(user string) {
	var best *SubscriptionState
	for _, id := range s.ofUser[user] {
		if one := s.Subscriptions.find(id); one.isShown() && (best == nil || one.comesBefore(best)) {
			best = one
		}
	}
	now := s.Current.find(user)
	switch {
	case best == nil && now != nil:
		s.Current.Remove(user)
	case best != nil && (now == nil || *now != best.shown()):
		s.Current.Put(user, best.shown())
	}
}
