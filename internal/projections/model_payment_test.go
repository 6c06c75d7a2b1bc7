package projections_test

import (
	"cmp"
	"maps"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/payfold/payfold/internal/events"
)

// naivePayment is a payment, from all events that name it.
type naivePayment struct {
	transaction, order, checkout string

	said []said // by all its events, in order
	paid []said // by those that say that money arrived and are not in conflict with it
	at   time.Time

	named                                               string // the user whom its own events name
	subscription, user, kind, product, currency, github string
	recurring, known, lasts, prorated, expires, trial   bool
	amount                                              *int64
	credits                                             int64 // alone
	net                                                 int64 // beside the other payments of its period
	start, end                                          time.Time

	refunded *int64
	share    *big.Rat // taken back; nil: nothing
	taken    int64    // credits that were taken back beside the money
}

// payments lists the payments that an event names. Events with both names join them.
func (m *naive) payments() []*naivePayment {
	orderOf, transactionOf := map[string]string{}, map[string]string{}
	for _, s := range m.said {
		if s.JoinsNames() {
			orderOf[s.Transaction], transactionOf[s.Order] = s.Order, s.Transaction
		}
	}
	byName := map[[2]string]*naivePayment{}
	for _, s := range m.said {
		if !s.tells() || s.PaymentID() == "" {
			continue
		}
		names := [2]string{s.Transaction, s.Order}
		names[0] = cmp.Or(names[0], transactionOf[names[1]])
		names[1] = cmp.Or(names[1], orderOf[names[0]])
		p := byName[names]
		if p == nil {
			p = &naivePayment{transaction: names[0], order: names[1]}
			byName[names] = p
		}
		p.said = append(p.said, s)
	}
	all := slices.SortedFunc(maps.Values(byName), func(a, b *naivePayment) int {
		return cmp.Or(strings.Compare(a.transaction, b.transaction), strings.Compare(a.order, b.order))
	})
	for _, p := range all {
		m.derive(p)
	}
	all = slices.DeleteFunc(all, func(p *naivePayment) bool { return len(p.paid) == 0 })
	m.findCheckouts(all)
	for _, p := range all {
		if p.trial && slices.ContainsFunc(all, func(q *naivePayment) bool { return m.beganBefore(q, p) }) {
			p.credits = 0
		}
	}
	for _, p := range all {
		m.reverse(p)
	}
	grantPeriods(all)
	return all
}

// beganBefore reports whether a payment for more than a trial of the same subscription arrived before another one.
func (m *naive) beganBefore(q, p *naivePayment) bool {
	isOf := q.subscription == p.subscription && !strings.HasPrefix(p.subscription, implicit)
	if q == p || !isOf || !q.known || q.kind == "one_time" || q.kind == "none" {
		return false
	}
	of := where(m.said, func(s said) bool { return m.isOf(s, p.subscription) })
	return slices.ContainsFunc(q.paid, func(s said) bool {
		return s.OccurredAt.Before(p.at) && !s.Trial && s.Status != "trialing" && !m.withTrial(s, of)
	})
}

func (m *naive) derive(p *naivePayment) {
	p.subscription = firstOf(p.said, subscriptionOf)
	// An event that says everything decides whose the payment is, and of which kind.
	complete := where(p.said, func(s said) bool {
		if m.sold != nil {
			return s.paid() && s.UserID != "" && s.offer != nil
		}
		return s.paid() && s.UserID != "" && s.Kind != "" && (s.Kind != "one_time" || s.credits > 0)
	})
	p.user = cmp.Or(firstOf(complete, userOf), firstOf(where(p.said, isPaid), userOf))
	decided := ""
	if len(complete) > 0 && m.sold == nil {
		decided = complete[0].Kind
	}
	p.named = p.user
	p.paid = where(p.said, func(s said) bool { return s.paid() && (s.UserID == "" || s.UserID == p.user) })
	if len(p.paid) == 0 {
		return
	}
	p.at = p.paid[0].OccurredAt
	of := where(m.said, func(s said) bool { return p.subscription != "" && m.isOf(s, p.subscription) })
	p.user = cmp.Or(p.user, firstOf(of, userOf))
	sale := m.checkoutFor(of, p.at)
	for _, s := range p.paid {
		p.recurring = p.recurring || s.Recurring
	}
	p.kind = decided
	p.deriveKind(m, of, sale)
	p.paid = where(p.paid, func(s said) bool { return m.sold != nil || s.Kind == "" || s.Kind == p.kind })
	p.deriveProduct(m, sale)
	p.deriveAmount()
	for _, s := range p.paid {
		if p.end.IsZero() {
			p.start, p.end, p.prorated = s.PeriodStart, s.PeriodEnd, s.Prorated
		}
	}
	if p.kind == "pro" {
		names := func(s said) string { return s.GitHubUser }
		invites := where(of, func(s said) bool {
			sellsLicence := s.Kind == "pro" || s.offer != nil && s.offer.Kind == "pro"
			return sellsLicence || s.Action == events.Checkout && s.Kind == ""
		})
		p.github = cmp.Or(firstOf(p.paid, names), firstOf(invites, names))
	}
	if !p.known {
		p.user = ""
	}
	if p.subscription == "" && p.user != "" && p.kind == "subscription" {
		p.subscription = implicit + p.user
	}
}

// findCheckouts gives each payment the checkout that its own events name. Otherwise the first payment of a subscription has
// the checkout of the subscription.
func (m *naive) findCheckouts(all []*naivePayment) {
	first := map[string]*naivePayment{} // by subscription
	for _, p := range all {
		p.checkout = firstOf(p.paid, checkoutOf)
		if other := first[p.subscription]; other == nil || inTime(p.paid[0], other.paid[0]) < 0 {
			first[p.subscription] = p
		}
	}
	for subscription, p := range first {
		of := where(m.said, func(s said) bool { return s.SubscriptionID == subscription && s.tells() && !s.paid() })
		if subscription != "" && p.checkout == "" {
			p.checkout = firstOf(of, checkoutOf)
		}
	}
}

// isOf reports whether the event, or another one of its payment, names the subscription.
func (m *naive) isOf(s said, subscription string) bool {
	if !s.tells() {
		return false
	}
	if s.SubscriptionID != "" {
		return s.SubscriptionID == subscription
	}
	return slices.ContainsFunc(m.said, func(other said) bool {
		return other.SubscriptionID == subscription && other.tells() && m.samePayment(s, other)
	})
}

func (m *naive) samePayment(a, b said) bool {
	return a.Transaction != "" && a.Transaction == b.Transaction || a.Order != "" && a.Order == b.Order ||
		slices.ContainsFunc(m.said, func(s said) bool {
			return s.JoinsNames() && (s.Transaction == a.Transaction && s.Order == b.Order ||
				s.Transaction == b.Transaction && s.Order == a.Order)
		})
}

// checkoutFor returns the event that says what a payment of the subscription is for: the newest that is at most
// two seconds later than the payment, else the first; nil if there is none. One in which the provider names the product
// has priority. Under a catalogue an event about the status says it, too.
func (m *naive) checkoutFor(of []said, at time.Time) *said {
	sells := where(of, func(s said) bool {
		return s.Action == events.Checkout && (m.sold == nil || s.offer != nil) ||
			(s.Action == events.Subscription || s.begins() && s.SubscriptionID != "") && s.offer != nil
	})
	if some := where(sells, func(s said) bool { return s.byProvider }); len(some) > 0 {
		sells = some
	}
	if len(sells) == 0 {
		return nil
	}
	newest := sells[0]
	for _, s := range sells {
		if !s.OccurredAt.After(at.Add(2 * time.Second)) {
			newest = s
		}
	}
	return &newest
}

// beginsTrial reports whether a trial begins with payments that do not say it: what they are for is trialing within an hour,
// and the provider names nothing else.
func beginsTrial(paid []said, sale *said) bool {
	if sale == nil || sale.Status != "trialing" || !slices.ContainsFunc(paid, func(s said) bool { return s.MayBeginTrial }) {
		return false
	}
	at := paid[0].OccurredAt
	return at.Sub(sale.OccurredAt).Abs() <= time.Hour && (sale.PeriodEnd.IsZero() || at.Before(sale.PeriodEnd)) &&
		!slices.ContainsFunc(paid, func(s said) bool { return s.byProvider && s.product != "" && s.product != sale.product })
}

func (p *naivePayment) deriveKind(m *naive, of []said, sale *said) {
	p.kind = cmp.Or(p.kind, firstOf(p.paid, kindOf))
	if p.kind == "" && sale != nil {
		p.kind = sale.Kind
	}
	if p.kind == "" {
		says := func(kind string) bool {
			return slices.ContainsFunc(of, func(s said) bool { return s.Kind == kind && s.Action != events.Checkout })
		}
		if m.sold == nil && says("pro") && !says("subscription") {
			p.kind = "pro"
		} else if p.subscription != "" || p.recurring {
			p.kind = "subscription"
		}
	}
}

// deriveProduct takes product and credits of the payment's events, and what they do not say of its checkout.
func (p *naivePayment) deriveProduct(m *naive, sale *said) {
	sources := where(p.paid, func(s said) bool { return s.Transaction != "" })
	sources = append(sources, where(p.paid, func(s said) bool { return s.Transaction == "" })...)
	own := len(sources)
	saysUnlisted := slices.ContainsFunc(p.paid, func(s said) bool { return s.unlisted && s.byProvider })
	saysListed := slices.ContainsFunc(p.paid, func(s said) bool { return s.offer != nil })
	if sale != nil && !(saysUnlisted && !saysListed) {
		of := *sale
		if of.begins() {
			of.credits = of.full // a later payment is none of the trial
		}
		sources = append(sources, of)
	}
	if beginsTrial(p.paid, sale) {
		for i := range sources {
			sources[i].credits = sources[i].ofTrial
		}
	}
	if m.sold == nil {
		for _, some := range [][]said{
			where(sources[:own], func(s said) bool { return s.Transaction != "" }),
			sources[:own], sources,
		} {
			if p.product == "" {
				p.product = firstInAlphabet(some)
			}
			if p.credits == 0 {
				for _, s := range some {
					if s.credits > p.credits || s.credits == p.credits && s.Expires.IsZero() {
						p.credits, p.expires = s.credits, !s.Expires.IsZero()
					}
				}
			}
		}
		p.known = p.kind != "" && (p.kind != "one_time" || p.credits > 0)
		return
	}
	offers := where(sources, func(s said) bool { return s.offer != nil })
	slices.SortStableFunc(offers, func(a, b said) int {
		isOwn := func(s said) bool { return s.Action == events.Payment && !s.begins() }
		return cmp.Or(trueFirst(a.byProvider, b.byProvider), trueFirst(isOwn(a), isOwn(b)),
			trueFirst(a.Transaction != "", b.Transaction != ""), cmp.Compare(b.credits, a.credits),
			cmp.Compare(b.offer.ValidMonths, a.offer.ValidMonths), trueFirst(a.Expires.IsZero(), b.Expires.IsZero()))
	})
	if len(offers) == 0 {
		if p.product = firstInAlphabet(sources); p.product != "" {
			p.kind = ""
		}
		return
	}
	best := offers[0]
	p.trial = best.Trial && !best.begins() || beginsTrial(p.paid, sale)
	p.expires = best.offer.ValidMonths > 0 || !best.Expires.IsZero()
	p.known, p.kind, p.product, p.credits, p.lasts = true, best.offer.Kind, best.product, best.credits,
		best.offer.LastsAsSubscription
}

func firstInAlphabet(all []said) string {
	var products []string
	for _, s := range all {
		if s.product != "" {
			products = append(products, s.product)
		}
	}
	slices.Sort(products)
	return cmp.Or(products...)
}

// deriveAmount takes the largest amount, and first of those that the transaction itself says.
func (p *naivePayment) deriveAmount() {
	for _, ofTransaction := range []bool{true, false} {
		for _, s := range p.paid {
			usable := s.Amount.Present && !s.Amount.Bad && s.Amount.Value >= 0 && s.AmountOfTransaction == ofTransaction
			if usable && (p.amount == nil || *p.amount < s.Amount.Value) {
				p.amount, p.currency = s.Amount.Pointer(), cmp.Or(s.Currency, p.currency)
			}
		}
		if p.amount != nil {
			break
		}
	}
}

// grantPeriods lets each period of a subscription grant what its largest payment alone would, without what went back with
// the money.
func grantPeriods(all []*naivePayment) {
	type period struct {
		subscription, user string
		end                int64
	}
	kept := map[period]int64{}
	for _, p := range slices.SortedStableFunc(slices.Values(all), func(a, b *naivePayment) int {
		return cmp.Or(a.at.Compare(b.at), strings.Compare(a.paid[0].ID, b.paid[0].ID))
	}) {
		p.net = p.credits
		if p.kind == "pro" || p.kind == "none" || p.kind == "" {
			p.net = 0
		}
		whole := p.share != nil && p.share.Cmp(big.NewRat(1, 1)) >= 0
		if p.kind != "subscription" || p.end.IsZero() || p.user == "" || p.subscription == "" || whole {
			continue
		}
		key := period{p.subscription, p.user, p.end.UnixMicro()}
		p.net = max(0, p.credits-kept[key])
		kept[key] += p.kept()
	}
}

// left returns the credits that are not taken back.
func (p *naivePayment) left() int64 { return max(0, p.kept()-p.taken) }

// kept returns the credits that did not go back with the money.
func (p *naivePayment) kept() int64 {
	if p.share == nil {
		return p.net
	}
	taken := new(big.Rat).Mul(p.share, new(big.Rat).SetInt64(p.net))
	return p.net - new(big.Int).Quo(taken.Num(), taken.Denom()).Int64()
}
