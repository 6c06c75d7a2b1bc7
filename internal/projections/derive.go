package projections

import (
	"cmp"
	"slices"
	"time"
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

// touched is a subscription whose facts have changed.
type touched struct {
	id          string
	before, now terms
	sells       bool      // something else than before, from that time on
	from        time.Time // zero: for all payments
}

// derive brings up to date what follows from the facts of these payments, which are stored, and from the fact that the
// event adds to a subscription, if said is not nil.
func (r Rules) derive(s *State, f *step, payments []string, said *Fact) {
	d := derivation{Rules: r, State: s, step: f, payments: payments}
	if said != nil {
		d.addFact(cmp.Or(said.Subscription, f.SubscriptionID), said)
	}
	for _, id := range payments {
		d.tellSubscriptions(s.Payments.find(id))
	}
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

// addFact gives a subscription what the event says of it.
func (d *derivation) addFact(subscription string, one *Fact) {
	row := d.subscriptionNamed(subscription)
	d.putFacts(row, row.Facts.with(one))
}

// tellSubscriptions gives the facts of a payment to the subscriptions that its events name, or to the implicit one of its
// user. It takes them away from an implicit subscription to which the payment no longer belongs.
func (d *derivation) tellSubscriptions(p *Payment) {
	said, id := d.purchaseOf(p.Facts), p.ProviderPaymentID
	to := p.subscriptions()
	if user := d.implicitUser(&said); user != "" {
		to = []string{ImplicitSubscription(user)}
	}
	former := addName(nil, d.toldBy[id])
	if p.isGone() {
		former = append(former, d.step.former...)
	}
	for _, subscription := range former {
		if !slices.Contains(to, subscription) {
			row := d.subscriptionNamed(subscription)
			d.putFacts(row, row.Facts.where(func(f *Fact) bool { return f.Payment != id }))
		}
	}
	for _, subscription := range to {
		row := d.subscriptionNamed(subscription)
		facts := row.Facts
		for _, f := range facts {
			if f.Payment == id && !d.tells(&said, f.EventID, f.Says) {
				facts = facts.where(func(other *Fact) bool { return other != f })
			}
		}
		for _, list := range []Facts{said.paid, said.others} {
			for _, f := range list {
				if says := d.saysFor(&said, f); says != "" && facts.has(f.EventID, says) == nil {
					facts = facts.with(f.of(id, says))
				}
			}
		}
		d.putFacts(row, facts)
	}
}

// saysFor returns what a fact of a payment says for its subscription; empty for nothing. An event of another user or kind
// says nothing of the payment; but what it says of the kind counts for the subscription.
func (d *derivation) saysFor(said *purchase, f *Fact) Says {
	switch {
	case slices.Contains(said.paid, f):
		return Paid
	case d.Catalogue == nil && f.Subscription != "" && f.Kind != "":
		return Named
	}
	return ""
}

func (d *derivation) tells(said *purchase, event string, says Says) bool {
	for _, list := range []Facts{said.paid, said.others} {
		for _, f := range list {
			if f.EventID == event && d.saysFor(said, f) == says {
				return true
			}
		}
	}
	return false
}

// of returns the fact for the subscription of a payment.
func (f *Fact) of(payment string, says Says) *Fact {
	if says == Named {
		return &Fact{EventID: f.EventID, Seq: f.Seq, At: f.At, Says: Named, Payment: payment, Kind: f.Kind, GitHubUser: f.GitHubUser}
	}
	return &Fact{
		EventID: f.EventID, Seq: f.Seq, At: f.At, Says: Paid, Payment: payment, User: f.User, Kind: f.Kind,
		GitHubUser: f.GitHubUser, Product: f.Product, ByBuyer: f.ByBuyer, Status: f.Status, From: f.From, Until: f.Until,
		Prorated: f.Prorated, CanceledAt: f.CanceledAt,
	}
}

func (d *derivation) subscriptionNamed(subscription string) SubscriptionState {
	if row := d.Subscriptions.find(subscription); row != nil {
		return *row
	}
	return SubscriptionState{SubscriptionID: subscription}
}

// putFacts stores a subscription with other facts. It is not derived yet.
func (d *derivation) putFacts(row SubscriptionState, facts Facts) {
	facts = facts.ofSubscription()
	provider := row.Provider
	if !row.implicit() && row.SubscriptionID == d.step.SubscriptionID {
		provider = providerOf(provider, d.step.Provider)
	}
	if slices.Equal(facts, row.Facts) && provider == row.Provider && d.Subscriptions.find(row.SubscriptionID) != nil {
		return
	}
	at := slices.IndexFunc(d.subscriptions, func(t touched) bool { return t.id == row.SubscriptionID })
	if at < 0 {
		at = len(d.subscriptions)
		d.subscriptions = append(d.subscriptions, touched{id: row.SubscriptionID, before: d.termsOf(row.Facts)})
	}
	d.subscriptions[at].note(row.Facts, facts, d.sells)
	d.subscriptions[at].now = d.termsOf(facts)
	row.Provider, row.Facts = provider, facts
	d.putSubscription(&row)
}

// note notes from when on the subscription sells something else.
func (t *touched) note(before, now Facts, sells func(*Fact) bool) {
	for _, one := range now {
		if !sells(one) || slices.Contains(before, one) || t.sells && !one.At.Before(t.from) {
			continue
		}
		t.sells, t.from = true, one.At
		sellsSo := func(f *Fact) bool { return sells(f) && f.ByBuyer == one.ByBuyer }
		if first := before.first(sellsSo); first == nil || one.before(first) {
			t.from = time.Time{}
		}
	}
}

// findPayments adds the payments for which their subscriptions say something else than before.
func (d *derivation) findPayments() {
	for i := range d.subscriptions {
		t := &d.subscriptions[i]
		if t.now.user != t.before.user || t.now.kind != t.before.kind || t.now.gitHubUser != t.before.gitHubUser {
			t.sells, t.from = true, time.Time{}
		}
		if !t.sells {
			continue
		}
		for _, id := range d.paymentsOf[t.id].from(t.from) {
			d.payments = addName(d.payments, id)
		}
	}
}

// termsFor returns what its subscription says of a payment.
func (d *derivation) termsFor(p *Payment) terms {
	for i := range d.subscriptions {
		if t := &d.subscriptions[i]; t.id == p.Facts.firstSubscription() {
			return t.now
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
	d.grants = append(d.grants, claimed{d.Payments.find(id), sold})
	for _, at := range []period{before.period(), now.period()} {
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
	d.grants = append(d.grants, claimed{p, sold})
}

// writeGrants brings the ledger up to date.
func (d *derivation) writeGrants() {
	done := map[period]bool{}
	for i := range d.grants {
		at := d.grants[i].period()
		if at != (period{}) && done[at] {
			continue
		}
		done[at] = true
		d.writePeriod(d.samePeriod(i))
	}
}

// samePeriod returns the payments of the period of one of them.
func (d *derivation) samePeriod(i int) (all []claimed) {
	at := d.grants[i].period()
	if at == (period{}) {
		return d.grants[i : i+1]
	}
	for _, one := range d.grants {
		if one.period() == at {
			all = append(all, one)
		}
	}
	return all
}

func (d *derivation) writePeriod(all []claimed) {
	for i, grants := range grantsOf(all) {
		p, now := *all[i].Payment, d.step.ledgerEvent()
		by := ledgerEvent{p.EventID, p.OccurredAt, p.StreamSeq}
		if p.Facts.first(func(f *Fact) bool { return f.Says == Paid && f.EventID == now.eventID }) != nil {
			by = now
		}
		d.writeLedger(&p, grants, by, now)
		if p.UserID == "" {
			continue
		}
		total := int64(0)
		for j := range grants {
			total += grants[j].credits
		}
		p.Credits = nil
		if total > 0 {
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
	now := d.Rules.deriveSubscription(before, t.now)
	d.putSubscription(&now)
	d.users = addName(addName(d.users, before.UserID), now.UserID)
	if now.Kind != KindPro || before.ended() == now.ended() {
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
