package projections

import "slices"

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
	of := func(id string) *touched {
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
		t := of(f.subscription())
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
				t := of(id)
				t.after = t.after.told(p.id, nil)
			}
		}
		for _, id := range to {
			t := of(id)
			t.after = t.after.told(p.id, tells)
		}
	}
	for i := range all {
		t := &all[i]
		t.after = t.after.ofSubscription()
		t.was, t.is = r.termsOf(t.before), r.termsOf(t.after)
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
			f = f.with(t.of(payment, t.says))
		}
	}
	return f
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
