package projections_test

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/payfold/payfold/internal/catalogue"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
)

// naive computes the tables at the end of a log from all its events together, without state. It was written from
// docs/reference.md and shares no code with the rules, so a mistake has to be made twice to pass.
type naive struct {
	sold *catalogue.Catalogue
	said []said // what each usable event says, in order
}

// said is one event and what it sells.
type said struct {
	events.Event

	unusable   bool // only its names count
	product    string
	byProvider bool // the provider names the product
	unlisted   bool // the catalogue does not have the product
	offer      *catalogue.Offer
	credits    int64  // of all its units and months; 0: none
	pays       string // the kind of its payment
	of         *naivePayment
	full       int64 // the credits of a payment that is none of a trial
	withTrial  bool  // a trial begins with the payment, as its subscription says
	ofTrial    int64 // the credits of a payment with which a trial begins
}

// newNaive reads each event once, and puts the events into the order of the provider's time.
func newNaive(mode projections.Mode, sold *catalogue.Catalogue, log []events.Event) naive {
	m := naive{sold: sold}
	seen := map[string]bool{}
	for _, e := range log {
		counts := e.Action == events.Reverse && !e.InvalidPayment && isReversal(e.Reversal) || e.Action != events.Reverse && !e.InvalidText &&
			(mode == projections.ModeAny || e.Mode == events.AnyMode || string(e.Mode) == string(mode))
		if !seen[e.ID] && !e.Unreadable && counts {
			m.said = append(m.said, m.read(e))
		}
		seen[e.ID] = true
	}
	slices.SortStableFunc(m.said, inTime)
	return m
}

// isReversal reports whether what the event takes back can be used.
func isReversal(r events.Reversal) bool {
	money := r.Amount.Present || r.Total.Present || r.Paid.Present
	onlyMoney := r.Credits.Value == 0 && r.Amount.Present && !r.Total.Present
	return !r.Credits.Present || onlyMoney || r.Credits.Value > 0 && !money
}

// statuses in the order of a subscription's life: of two at the same moment the later one counts.
var inLife = []string{
	"incomplete", "trialing", "active", "past_due", "unpaid", "paused", "scheduled_cancel", "expired", "canceled",
}

func inTime(a, b said) int {
	place := func(s said) int { return slices.Index(inLife, s.status()) }
	return cmp.Or(a.OccurredAt.Compare(b.OccurredAt), cmp.Compare(place(a), place(b)), strings.Compare(a.ID, b.ID))
}

// status returns the status that the event gives its subscription. A payment without one makes it active, or
// trialing if a trial begins with it.
func (s *said) status() string {
	if s.Status == "" && s.Action == events.Payment {
		if s.Trial {
			return "trialing"
		}
		return "active"
	}
	return s.Status
}

func (m *naive) read(e events.Event) said {
	s := said{Event: e}
	if e.Action != events.Payment && e.Action != events.Checkout && e.Action != events.Subscription {
		return s
	}
	s.product, s.byProvider = m.productOf(e)
	s.offer = m.sold.Offer(s.product, e.OccurredAt)
	if e.Given && m.sold != nil {
		s.byProvider, s.product = true, ""
		if e.Credits.Present {
			s.offer = &catalogue.Offer{Kind: "one_time", Credits: e.Credits.Value, Months: 1}
		}
	}
	if s.offer != nil && e.SubscriptionID == "" && !e.Recurring && slices.Contains([]string{"one_time", "pro"}, s.offer.Kind) &&
		!s.offer.LastsAsSubscription {
		s.Trial, e.Trial = false, false // it has no trial: 0 is its price
	}
	s.unlisted = m.sold != nil && s.offer == nil && s.product != ""
	if m.sold == nil {
		s.credits = e.Credits.Value * unitsOf(e, s.product)
		s.unusable = e.Action != events.Subscription && !e.Trial &&
			(e.Credits.Bad || e.Credits.Present && e.Credits.Value < 1)
	} else if s.offer != nil {
		each := s.offer.Credits * max(1, s.offer.Months)
		s.full, s.ofTrial = each*unitsOf(e, s.product), s.offer.TrialCredits*unitsOf(e, s.product)
		if e.Trial {
			each = s.offer.TrialCredits
		}
		s.credits = each * unitsOf(e, s.product)
		s.unusable = e.Kind != "" && e.Kind != s.offer.Kind && s.offer.Kind != "none" && e.Action != events.Subscription || // kind_mismatch
			e.Given && (e.Credits.Bad || e.Credits.Value < 1)
		if e.Action != events.Subscription {
			s.Kind = s.offer.Kind
		}
	}
	if !slices.Contains([]string{"", "subscription", "one_time", "pro", "none"}, s.Kind) {
		s.unusable = true // unknown_kind
	}
	return s
}

// productOf returns what was sold. The buyer can write the key in the metadata, so it counts under a catalogue only if
// the provider names nothing.
func (m *naive) productOf(e events.Event) (product string, byProvider bool) {
	var ids []string
	for _, item := range m.itemsOf(e) {
		ids = append(ids, item.Price, item.Product)
	}
	named := cmp.Or(append([]string{e.Product}, ids...)...)
	if m.sold == nil {
		return cmp.Or(e.ProductKey, named), false
	}
	for _, id := range append([]string{e.Product}, ids...) {
		if m.sold.Sells(id) {
			return id, true
		}
	}
	return cmp.Or(named, e.ProductKey), named != ""
}

// itemsOf sorts the items: one that the catalogue has, those that grant nothing last; then one for a whole period, then
// the most expensive one.
func (m *naive) itemsOf(e events.Event) []events.Item {
	return slices.SortedStableFunc(slices.Values(e.Items), func(a, b events.Item) int {
		listed := func(i events.Item) bool { return m.sold.Sells(i.Price) || m.sold.Sells(i.Product) }
		grants := func(i events.Item) bool {
			offer := m.sold.Offer(i.Product, e.OccurredAt)
			if m.sold.Sells(i.Price) {
				offer = m.sold.Offer(i.Price, e.OccurredAt)
			}
			return offer != nil && offer.Kind != "none"
		}
		return cmp.Or(trueFirst(listed(a), listed(b)), trueFirst(grants(a), grants(b)), trueFirst(!a.Prorated, !b.Prorated),
			cmp.Compare(b.Amount.Value, a.Amount.Value))
	})
}

func trueFirst(a, b bool) int {
	number := map[bool]int{true: 0, false: 1}
	return cmp.Compare(number[a], number[b])
}

func unitsOf(e events.Event, product string) int64 {
	if e.Units.Present {
		return max(1, e.Units.Value)
	}
	var whole, prorated int64
	for _, item := range e.Items {
		if product != "" && (item.Price == product || item.Product == product) && !item.Units.Bad {
			units := item.Units.Value
			if !item.Units.Present {
				units = 1
			}
			if item.Prorated {
				prorated = max(prorated, units)
			} else {
				whole += units
			}
		}
	}
	if units := cmp.Or(whole, prorated); units > 0 {
		return units
	}
	if len(e.Items) > 0 && e.Items[0].Price == "" && e.Items[0].Product == "" {
		return max(1, e.Items[0].Units.Value)
	}
	return 1
}

// paid reports whether the event says that money arrived. A trial of nothing says it only if the product has credits
// for it.
func (s *said) paid() bool {
	return s.Action == events.Payment && !s.Unpaid && !s.unusable &&
		!(s.Trial && (s.offer == nil || s.offer.TrialCredits == 0))
}

// where lists what is said by events for which is returns true.
func where(all []said, is func(said) bool) (some []said) {
	for _, s := range all {
		if is(s) {
			some = append(some, s)
		}
	}
	return some
}

// tells reports whether more of the event counts than its names.
func (s *said) tells() bool {
	return (s.Action == events.Payment && !s.Unpaid ||
		s.Action == events.Checkout || s.Action == events.Subscription) && !s.unusable
}

// begins reports whether the event is a payment of nothing with which a trial begins.
func (s *said) begins() bool {
	return s.Action == events.Payment && s.Trial && !s.paid() && !s.Unpaid && !s.unusable
}

func firstOf(all []said, text func(said) string) string {
	for _, s := range all {
		if found := text(s); found != "" {
			return found
		}
	}
	return ""
}

func userOf(s said) string         { return s.UserID }
func kindOf(s said) string         { return s.Kind }
func subscriptionOf(s said) string { return s.SubscriptionID }
func checkoutOf(s said) string     { return s.Checkout }
func isPaid(s said) bool           { return s.paid() }

const implicit = "implicit:"

func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339Nano)
}
