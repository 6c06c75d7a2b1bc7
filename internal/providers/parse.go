package providers

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/payfold/payfold/internal/events"
)

// SyntaxError says why a body is not an event. Its text may be sent to the caller: it never
// contains a part of the body.
type SyntaxError struct{ Detail string }

func (e *SyntaxError) Error() string { return e.Detail }

// Parse decodes one body of the provider. The body must be exactly one JSON object in valid UTF-8, at most maxDepth
// deep. It must have the provider's id, type and object exactly once; id and type must be non-empty strings without lone
// surrogates, and the object an object. It must have what no body of the provider lacks, and one of its types if these
// are all that there are. id is the event's id if the provider sends it in a header. OccurredAt is the provider's time,
// if there is one. The error is a *SyntaxError.
//
// Ingest needs only the id, the type and the partition key. It calls the same function as a
// projector, so that it accepts exactly what a projector can read.
func (p *Provider) Parse(body []byte, id string) (events.Event, error) {
	if !utf8.Valid(body) {
		return events.Event{}, &SyntaxError{"the body is not valid UTF-8"}
	}
	if tooDeep(body) {
		return events.Event{}, &SyntaxError{fmt.Sprintf("the body nests deeper than %d", maxDepth)}
	}
	v := p.reader.pool.Get().(*values)
	defer func() {
		v.event = events.Event{} // its texts are not kept
		p.reader.pool.Put(v)
	}()
	v.unit = time.Millisecond
	if p.seconds {
		v.unit = time.Second
	}
	if err := cmp.Or(v.read(body), p.check(v)); err != nil {
		return events.Event{}, err
	}
	if p.id == ofBody {
		id = hashID(body)
	}
	p.event(v, id)
	return v.event, nil
}

// check checks the envelope. What is missing is said first, because then the body is another provider's.
func (p *Provider) check(v *values) error {
	for i, path := range p.reader.required {
		if v.times[i+1] == 0 {
			return &SyntaxError{path + " is missing"}
		}
	}
	for _, n := range p.reader.envelope {
		if n != nil && v.times[n.required] > 1 {
			return &SyntaxError{p.reader.required[n.required-1] + " is given twice"}
		}
	}
	for i, path := range []string{p.id, p.kind} {
		if n := p.reader.envelope[i]; n != nil && !v.slots[n.slot].isUnicode() {
			return &SyntaxError{path + " is not a non-empty string of Unicode text"}
		}
	}
	if n := p.reader.envelope[2]; n != nil && v.slots[n.slot].kind != '{' && v.slots[n.slot].kind != '}' {
		return &SyntaxError{p.object + " is not a JSON object"}
	}
	if kind := v.slots[p.reader.envelope[1].slot].text; p.closed && p.known[string(kind)] == nil && string(kind) != events.LostType {
		return &SyntaxError{p.kind + " is none of " + strings.Join(slices.Sorted(maps.Keys(p.events)), ", ")}
	}
	return nil
}

// Decode reads a message of the log. It never fails. A message of a provider that this build does not know is
// unreadable.
func Decode(m events.Message) events.Event {
	event, err := decode(m)
	if err != nil {
		event = events.Event{ID: idWithoutBody(m), Action: events.None, Unreadable: true}
	}
	event.Provider = m.Provider
	event.Seq, event.ReceivedAt = m.Seq, m.ReceivedAt.UTC().Truncate(time.Microsecond)
	if event.OccurredAt.IsZero() || event.OccurredAt.After(event.ReceivedAt.Add(maxAhead)) {
		event.OccurredAt = event.ReceivedAt
	}
	return event
}

// WhyUnreadable says why Decode finds no event in the message; empty if it does.
func WhyUnreadable(m events.Message) string {
	if _, err := decode(m); err != nil {
		return err.Error()
	}
	return ""
}

// decode returns the event of a message, or why it has none.
func decode(m events.Message) (events.Event, error) {
	p := Named(m.Provider)
	switch {
	case p == nil:
		return events.Event{}, fmt.Errorf("this build does not know the provider %q", m.Provider)
	case m.Form != events.AsReceived:
		return events.Event{}, events.ErrForm
	}
	return p.Parse(m.Body, m.ID)
}

// The provider's time counts even if it is ahead of ingest's clock, because that clock may be wrong. But no clock is a
// day wrong for long, so a time that is further ahead is not one of an event that has happened.
const maxAhead = 24 * time.Hour

func idWithoutBody(m events.Message) string {
	if m.ID != "" && events.CleanID(m.ID) == m.ID {
		return m.ID
	}
	return hashID(m.Body)
}

func hashID(body []byte) string {
	sum := sha256.Sum256(body)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// event makes v.event. Null and the empty string count as absent. id is the event's id if it is not in the body.
func (p *Provider) event(v *values, id string) {
	kindOfEvent := v.slots[p.reader.envelope[1].slot].text
	m := p.known[string(kindOfEvent)]
	if m == nil {
		m = p.other
	}
	v.of, v.facts = m, m.facts
	var texts texts
	switch n := p.reader.envelope[0]; {
	case n != nil:
		id = events.CleanID(texts.copy(v.slots[n.slot].text))
	case p.id == inHeader:
		id = events.CleanID(id)
	}
	github := v.login(github)
	if github.kind == 0 {
		github = v.answer()
	}
	transaction, order := v.text(transaction), v.text(order)
	if transaction.kind == 0 && order.kind == 0 {
		transaction = v.written(writtenName)
	}
	user, subscription := v.written(user), v.text(subscription)
	reversalID, reversalWord := v.text(reversal), v.text(reversalStatus)
	amount, currency, ofTransaction := v.amount(m.sums)
	occurredAt := v.moment
	if p.newest {
		occurredAt = v.newest
	}
	e := &v.event
	*e = events.Event{
		Provider: p.name, ID: id, Type: events.CleanID(texts.copy(kindOfEvent)), Action: m.action, OccurredAt: occurredAt(m.time),
		InvalidPayment: !transaction.fits() || !order.fits() || !reversalID.fits() || !reversalWord.fits(),
		Kind:           texts.of(v.written(kind)),
		UserID:         texts.of(user),
		SubscriptionID: texts.of(subscription),
		Recurring:      m.recurring,
		Transaction:    texts.of(transaction),
		Order:          texts.of(order),
		ProductKey:     texts.of(v.written(productKey)),
		Checkout:       texts.ofOptional(v.text(checkout)),
		Product:        texts.of(v.text(product)),
		GitHubUser:     texts.githubUser(github),
		Credits:        v.number(credits),
		Units:          v.number(units),
		Expires:        v.moment(expires),

		Amount: amount, AmountOfTransaction: ofTransaction, Currency: strings.ToUpper(texts.of(currency)),
		PeriodStart: v.moment(periodStart), PeriodEnd: v.moment(periodEnd), CanceledAt: v.moment(canceledAt),
		Extended: v.moment(extended),
	}
	e.Mode = v.mode()
	e.Unpaid = p.isUnpaid(texts.of(v.text(paid)))
	e.Trial = v.isTrial()
	switch m.action {
	case events.Subscription, events.Checkout:
		e.Status = p.status(v, texts.of(v.text(status)))
	case events.Payment:
		e.Status = beside(p.status(v, texts.of(v.text(status))))
	}
	if m.action == events.Reverse {
		e.Reversal = p.reversalOf(v, texts.of(reversalID), texts.of(reversalWord), texts.of(v.text(cause)),
			strings.ToUpper(texts.ofOptional(v.text(reversalIn))))
	}
	v.addItems(&texts)
	e.Key = texts.copy(firstText(v.text(customer), user, subscription, transaction, order, scalar{text: []byte(id), kind: '"'}).text)
	e.InvalidText = texts.invalid
	if !m.known { // nobody knows whether its names are those of one payment
		e.Transaction, e.Order = e.PaymentID(), ""
	}
	if m.decide != nil {
		m.decide(e, v)
	}
	if v.isTrue(cut) { // which product it is, and how many, could be in the other part
		e.Items = nil
	}
	e.Prorated = e.Prorated || m.action == events.Payment && areProrated(e.Items)
}

func firstText(candidates ...scalar) scalar {
	for _, s := range candidates {
		if s.isText() {
			return s
		}
	}
	return none
}

// unpaid are the states of an order or a payment whose money has not arrived. Any other state, and none, counts as paid.
var unpaid = map[string]bool{
	"pending": true, "failed": true, "void": true, "unpaid": true, "declined": true, "uncollectible": true, "expired": true,
	"canceled": true,
}

// isUnpaid reports whether that state of a payment means that its money has not arrived.
func (p *Provider) isUnpaid(state string) bool {
	if p.arrived == nil || state == "" {
		return unpaid[strings.ToLower(state)]
	}
	return !slices.Contains(p.arrived, state)
}

// isTrial reports whether the event says that nothing is due.
func (v *values) isTrial() bool {
	left, discounted := v.number(due), v.any(discount)
	isDiscount := discounted.isText() || discounted.kind == '{' || discounted.kind == '[' && len(bytes.Trim(discounted.text, "[ ]")) > 0
	return left.Present && !left.Bad && left.Value == 0 && !isDiscount
}

// mode reads live and prod as live, and any other text as test. A boolean says it too.
func (v *values) mode() events.Mode {
	if len(v.facts[mode])+len(v.facts[testMode]) == 0 {
		return events.AnyMode
	}
	switch s, isTest := v.any(mode), v.any(testMode); {
	case s.isText() && (string(s.text) == "live" || string(s.text) == "prod"), s.kind == 't', isTest.kind == 'f':
		return events.Live
	case s.isText(), s.kind == 'f', isTest.kind == 't':
		return events.Test
	}
	return ""
}

// beside returns the status that a payment leaves its subscription. A payment makes a subscription active, unless the
// body says that it has not begun, or that something else is not paid.
func beside(status string) string {
	switch status {
	case events.Trialing, events.Incomplete, events.PastDue:
		return status
	}
	return ""
}

// status returns the status that the event gives its subscription; empty if it gives none.
func (p *Provider) status(v *values, word string) string {
	status := cmp.Or(v.of.status, p.statuses[word], word)
	if status != events.Active && status != events.Trialing {
		return status
	}
	ending := v.any(ending)
	if ending.kind == 't' || ending.kind == '"' && string(ending.text) == "cancel" || !ending.moment(v.unit).IsZero() {
		return events.ScheduledCancel
	}
	return status
}

func (p *Provider) reversalOf(v *values, id, word, cause, currency string) events.Reversal {
	r := events.Reversal{
		ID: id, Cause: v.of.cause, Status: v.of.reversal,
		Amount: v.money(reversalAmount), Total: v.money(reversalTotal), Paid: v.money(reversalPaid),
		Credits: v.number(reversalCredits), Currency: currency,
	}
	if r.Cause == "" {
		r.Cause = events.Refund
		if strings.HasPrefix(cause, string(events.Chargeback)) {
			r.Cause = events.Chargeback
		}
	}
	if r.Status == "" {
		r.Status = p.reversed[word]
		switch {
		case r.Status != "":
		case word == "" || word == string(events.Succeeded):
			r.Status = events.Succeeded
		default:
			r.Status = events.Pending
		}
	}
	return r
}

// addItems adds the items, and what they say of the event: the period of the item that ends last, if the event has
// none. Prorated items say it only if there is no other.
func (v *values) addItems(texts *texts) {
	e := &v.event
	var whole, part period
	isSaid := !e.PeriodStart.IsZero() || !e.PeriodEnd.IsZero()
	for element := range v.elements(&v.of.items) {
		amount, units, prorated := element.number(amount), element.number(units), element.any(prorated)
		if amount.Value < 0 || units.Value < 0 {
			continue
		}
		item := events.Item{
			Product: texts.ofOptional(element.text(product)), Price: texts.ofOptional(element.text(price)),
			Units: units, Amount: amount, Prorated: prorated.kind == 't' || prorated.kind == '{',
		}
		begins, ends := element.moment(periodStart), element.moment(periodEnd)
		if !isSaid && begins.Before(ends) { // what is sold once has a moment, and not a period
			item.PeriodStart, item.PeriodEnd = begins, ends
		}
		e.Items = append(e.Items, item)
		of := &whole
		if item.Prorated {
			of = &part
		}
		if item.PeriodEnd.After(of.end) {
			*of = period{item.PeriodStart, item.PeriodEnd}
		}
	}
	if !isSaid {
		of := cmp.Or(whole, part)
		e.PeriodStart, e.PeriodEnd = of.start, of.end
	}
}

type period struct{ start, end time.Time }

// areProrated reports whether all items that name a product are for a part of a period.
func areProrated(items []events.Item) (prorated bool) {
	for _, item := range items {
		if item.Product == "" && item.Price == "" {
			continue
		}
		if !item.Prorated {
			return false
		}
		prorated = true
	}
	return prorated
}
