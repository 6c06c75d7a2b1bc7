package projections

import (
	"slices"
)

// derivation brings the rows up to date after an event. Its methods run in the order of derive. Each reads only what an
// event said, or what an earlier one has derived.
type derivation struct {
	rules Rules
	state *State
	step  *step

	payments      []string  // to be derived
	subscriptions []touched // whose facts have changed
	grants        []claimed // the payments of periods that have changed, and those without a period
	users         []string  // whose shown subscription and licence may change
}

// derive brings up to date what follows from the facts of these payments, which are stored, and from the fact that the
// event adds to a subscription, if said is not nil.
func (r Rules) derive(s *State, f *step, payments []string, said *Fact) {
	d := derivation{rules: r, state: s, step: f, payments: payments}
	tellers := make([]teller, len(payments))
	for i, id := range payments {
		tellers[i] = teller{id, s.Payments.find(id).Facts}
	}
	d.subscriptions = slices.DeleteFunc(r.touch(s, f, tellers, said), func(t touched) bool { return !d.putFacts(&t) })
	d.findPayments()
	for _, id := range d.payments {
		d.updatePayment(id)
	}
	d.writeGrants()
	for i := range d.subscriptions {
		d.updateSubscription(&d.subscriptions[i])
	}
	for _, user := range d.users {
		s.chooseSubscription(user)
		if s.chooseLicense(user, f.ledgerEvent()) {
			f.licensed = true
		}
	}
}

// touched is a subscription of which an event says something.
type touched struct {
	id            string
	before, after Facts
	was, is       terms
}

// teller is a payment that gives its facts to its subscriptions.
type teller struct {
	id    string
	facts Facts // empty if the payment turned out to be another one
}

// touch returns the subscriptions of which an event says something, and their facts before and after it. said is what it
// says of its own subscription; it can be nil. Each payment gives its facts to the subscriptions that its events name, or
// to the implicit one of its user, and takes them away from those to which it no longer belongs. Nothing is stored.
func (r Rules) touch(s *State, f *step, payments []teller, said *Fact) (all []touched) {
	touchedOf := func(id string) *touched {
		at := slices.IndexFunc(all, func(t touched) bool { return t.id == id })
		if at < 0 {
			at, all = len(all), append(all, touched{id: id})
			if row := s.Subscriptions.find(id); row != nil {
				all[at].before, all[at].after = row.Facts, row.Facts
			}
		}
		return &all[at]
	}
	if said != nil {
		t := touchedOf(f.subscription())
		t.after = t.after.with(said)
	}
	for _, p := range payments {
		purchase := r.purchaseOf(p.facts)
		to, tells := p.facts.subscriptions(), r.tellsOf(&purchase)
		if user := r.implicitUser(&purchase); user != "" {
			to = []string{ImplicitSubscription(user)}
		}
		former := addName(nil, s.toldBy[p.id])
		if len(p.facts) == 0 {
			former = append(former, f.former...)
		}
		for _, id := range former {
			if !slices.Contains(to, id) {
				t := touchedOf(id)
				t.after = t.after.told(p.id, nil)
			}
		}
		for _, id := range to {
			t := touchedOf(id)
			t.after = t.after.told(p.id, tells)
		}
	}
	for i := range all {
		t := &all[i]
		t.was, t.is = r.termsOf(t.before), r.termsOf(t.after)
		if kept := t.after.ofSubscription(t.is.begun); len(kept) < len(t.after) {
			t.after, t.is = kept, r.termsOf(kept)
		}
	}
	return all
}

// telling is a fact of a payment, and what it says for a subscription.
type telling struct {
	*Fact
	says Says
}

// tellsOf returns what a payment says for its subscriptions. An event of another user or kind says nothing of the payment;
// but what it says of the kind counts for the subscription.
func (r Rules) tellsOf(said *purchase) (all []telling) {
	for _, f := range said.paid {
		all = append(all, telling{f, Paid})
	}
	for _, f := range said.others {
		if r.Catalogue == nil && f.Subscription != "" && f.Kind != "" {
			all = append(all, telling{f, Named})
		}
	}
	return all
}

// told returns the facts of a subscription of which the payment says exactly this.
func (f Facts) told(payment string, tells []telling) Facts {
	isTold := func(one *Fact) bool {
		return slices.ContainsFunc(tells, func(t telling) bool { return t.EventID == one.EventID && t.says == one.Says })
	}
	if f.First(func(one *Fact) bool { return one.Payment == payment && !isTold(one) }) != nil {
		f = f.where(func(one *Fact) bool { return one.Payment != payment || isTold(one) })
	}
	for _, t := range tells {
		if f.has(t.EventID, t.says) == nil {
			f = f.with(t.forSubscription(payment, t.says))
		}
	}
	return f
}

// forSubscription returns what a fact of the payment says for its subscription.
func (f *Fact) forSubscription(payment string, says Says) *Fact {
	if says == Named {
		return &Fact{EventID: f.EventID, Seq: f.Seq, At: f.At, Says: Named, Payment: payment, Kind: f.Kind, GitHubUser: f.GitHubUser}
	}
	return &Fact{
		EventID: f.EventID, Seq: f.Seq, At: f.At, Says: Paid, Payment: payment, User: f.User, Kind: f.Kind,
		GitHubUser: f.GitHubUser, Product: f.Product, ByBuyer: f.ByBuyer, Status: f.Status, From: f.From, Until: f.Until,
		Prorated: f.Prorated, CanceledAt: f.CanceledAt, MayBeginTrial: f.MayBeginTrial,
	}
}

// putFacts stores a subscription with its new facts, and reports whether something has changed. It is not derived yet.
func (d *derivation) putFacts(t *touched) bool {
	row, known := d.state.Subscriptions.Get(t.id)
	provider := row.Provider
	if t.id == d.step.SubscriptionID {
		provider = providerOf(provider, d.step.Provider)
	}
	if known && provider == row.Provider && slices.Equal(t.before, t.after) {
		return false
	}
	row.SubscriptionID, row.Provider, row.Facts = t.id, provider, t.after
	d.state.putSubscription(&row)
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
		for _, id := range d.state.paymentsOf[t.id].from(from) {
			d.payments = addName(d.payments, id)
		}
	}
}

// termsNow returns what its subscription says of a payment after the event.
func (d *derivation) termsNow(p *Payment) terms {
	for i := range d.subscriptions {
		if t := &d.subscriptions[i]; t.id == p.Facts.firstSubscription() {
			return t.is
		}
	}
	return d.rules.termsFor(d.state, p)
}

func (r Rules) termsFor(s *State, p *Payment) terms {
	if of := s.Subscriptions.find(p.Facts.firstSubscription()); of != nil {
		return r.termsOf(of.Facts)
	}
	return terms{}
}

// updatePayment stores the payment as it follows from its facts, and notes whose rows may change.
func (d *derivation) updatePayment(id string) {
	before, _ := d.state.Payments.Get(id)
	now, sold := d.rules.derivePayment(before, d.termsNow(&before), d.state.reversalsFor(&before))
	if before.UserID == "" && !d.state.canGrant(&now) {
		now.UserID = ""
	}
	d.state.putPayment(&now)
	if before.UserID == "" && now.UserID != "" {
		d.step.claimed = true
	}
	if now.Kind == KindPro || before.Kind == KindPro {
		d.users = addName(addName(d.users, now.UserID), before.UserID)
	}
	d.grants = append(d.grants, claimed{Payment: d.state.Payments.find(id), sale: sold})
	for _, at := range []Period{before.Period(), now.Period()} {
		for _, other := range d.state.periodsOf[at] {
			d.addGrants(other)
		}
	}
}

// addGrants adds a payment whose grants may change because another one of its period has changed.
func (d *derivation) addGrants(id string) {
	p := d.state.Payments.find(id)
	if slices.Contains(d.payments, id) || slices.ContainsFunc(d.grants, func(c claimed) bool { return c.ProviderPaymentID == id }) {
		return
	}
	_, sold := d.rules.derivePayment(*p, d.termsNow(p), nil)
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
			all[i].back = takenBy(d.state.reversalsFor(p), p)
		}
	}
	for i, grants := range grantsOf(all) {
		p, now := *all[i].Payment, d.step.ledgerEvent()
		by := ledgerEvent{p.EventID, p.OccurredAt, p.StreamSeq}
		if p.Facts.First(func(f *Fact) bool { return f.Says == Paid && f.EventID == now.eventID }) != nil {
			by = now
		}
		d.state.writeLedger(&p, grants, by, now)
		if p.UserID == "" {
			continue
		}
		p.Credits = nil
		if total := totalOf(grants); total > 0 {
			p.Credits = &total
		}
		if orZero(p.Credits) != orZero(all[i].Credits) {
			d.state.putPayment(&p)
		}
	}
}

// updateSubscription stores the subscription as it follows from its facts, and notes whose rows may change.
func (d *derivation) updateSubscription(t *touched) {
	before, _ := d.state.Subscriptions.Get(t.id)
	now := d.rules.deriveSubscription(before, t.is)
	d.state.putSubscription(&now)
	d.users = addName(addName(d.users, before.UserID), now.UserID)
	if before.givesAs(&now) {
		return
	}
	for _, one := range d.state.paymentsOf[t.id] {
		if p := d.state.Payments.find(one.id); p.Lasts {
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
