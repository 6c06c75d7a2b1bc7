package projections_test

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/providers"
)

// happening is one event of the shop. The model reads happenings; the fold reads their bodies.
type happening struct {
	id, eventType, kind, user, subscription, payment, order string

	at             time.Time
	credits        int64 // 0: not in the body
	amount         int64 // paid, or taken back by a reversal
	paid           int64 // of a reversal; 0: not in the body
	cumulative     bool
	reversalStatus string
	newStatus      string // of an update
}

var shopOpens = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// month draws the events of a random shop. Customers subscribe, renew, upgrade, cancel, buy
// packs and licences, get refunds and dispute. Some events come late, twice or out of order.
func month(t *rapid.T) []happening {
	s := &shop{t: t, now: shopOpens}
	for customer := range rapid.IntRange(1, 3).Draw(t, "customers") {
		s.user = fmt.Sprintf("u%d", customer)
		for range rapid.IntRange(0, 2).Draw(t, "packs") {
			s.buy("one_time", 10)
		}
		for range rapid.IntRange(0, 2).Draw(t, "licences") {
			s.buy("pro", 0)
		}
		for range rapid.IntRange(0, 2).Draw(t, "subscriptions") {
			s.subscribe()
		}
	}
	log := s.log
	if rapid.Bool().Draw(t, "disorderly") {
		log = rapid.Permutation(log).Draw(t, "order")
	}
	for range rapid.IntRange(0, 3).Draw(t, "retries") {
		if len(log) > 0 {
			log = append(log, log[rapid.IntRange(0, len(log)-1).Draw(t, "again")])
		}
	}
	return log
}

type shop struct {
	t     *rapid.T
	user  string
	now   time.Time
	count int
	log   []happening
}

// add appends an event. Some events have the same time.
func (s *shop) add(h happening) {
	s.now = s.now.Add(time.Duration(rapid.SampledFrom([]int{0, 1, 3600}).Draw(s.t, "seconds")) * time.Second)
	s.count++
	h.id, h.at = fmt.Sprintf("e%d", s.count), s.now
	s.log = append(s.log, h)
}

func (s *shop) fresh(prefix string) string {
	s.count++
	return fmt.Sprintf("%s%d", prefix, s.count)
}

func (s *shop) sometimes(text string) string {
	return rapid.SampledFrom([]string{text, ""}).Draw(s.t, "says")
}

func (s *shop) buy(kind string, credits int64) {
	payment := happening{
		eventType: "checkout.completed", kind: kind, user: s.user, payment: s.fresh("t"), order: s.fresh("o"),
		credits: credits * rapid.Int64Range(1, 9).Draw(s.t, "credits"), amount: 1000,
	}
	for i := range rapid.IntRange(1, 3).Draw(s.t, "events") {
		part := payment
		if i > 0 { // with one name and fewer fields; the first event has both names
			switch rapid.SampledFrom([]string{"both", "order", "transaction"}).Draw(s.t, "names") {
			case "order":
				part.payment = ""
			case "transaction":
				part.order = ""
			}
			part.user, part.kind = s.sometimes(s.user), s.sometimes(kind)
			part.credits *= int64(rapid.IntRange(0, 1).Draw(s.t, "says"))
		}
		s.add(part)
	}
	s.mayReverse(payment)
}

// subscribe starts a subscription. In the older shape only the checkout says what was bought,
// and it names only its order. Then it can also be a pack or a licence with renewals.
func (s *shop) subscribe() {
	subscription := s.fresh("s")
	credits := rapid.Int64Range(0, 3).Draw(s.t, "credits") * 7
	older, kind := rapid.Bool().Draw(s.t, "older"), "subscription"
	if older {
		credits += 7
		kind = rapid.SampledFrom([]string{"subscription", "one_time", "pro"}).Draw(s.t, "kind")
	}
	pay := func(eventTypes ...string) {
		payment := happening{
			kind: kind, subscription: subscription, payment: s.fresh("t"), order: s.fresh("o"), credits: credits, amount: 700,
		}
		for _, eventType := range eventTypes {
			part := payment
			part.eventType, part.user = eventType, s.sometimes(s.user)
			switch {
			case eventType == "checkout.completed":
				part.user = s.user
				if older {
					part.payment = ""
				}
			case older:
				part.kind, part.credits, part.user = "", 0, ""
			}
			s.add(part)
		}
		s.mayReverse(payment)
	}
	pay("checkout.completed", "subscription.active", "subscription.paid")
	for range rapid.IntRange(0, 3).Draw(s.t, "life") {
		switch next := rapid.SampledFrom([]string{"renewal", "past_due", "paused", "update", "expired", "scheduled_cancel", "canceled"}).Draw(s.t, "next"); next {
		case "renewal":
			pay("subscription.paid")
		case "update":
			s.add(happening{
				eventType: "subscription.update", subscription: subscription, user: s.sometimes(s.user),
				newStatus: rapid.SampledFrom([]string{"active", "trialing"}).Draw(s.t, "status"),
			})
		default:
			s.add(happening{eventType: "subscription." + next, subscription: subscription, user: s.sometimes(s.user)})
		}
	}
}

func (s *shop) mayReverse(payment happening) {
	total := int64(0)
	for range rapid.IntRange(0, 3).Draw(s.t, "reversals") {
		part := rapid.Int64Range(1, payment.amount).Draw(s.t, "part")
		h := happening{
			eventType: rapid.SampledFrom([]string{"refund.created", "refund.created", "dispute.created"}).Draw(s.t, "cause"),
			payment:   payment.payment, amount: part, paid: payment.amount,
			reversalStatus: rapid.SampledFrom([]string{"succeeded", "succeeded", "", "pending", "failed"}).Draw(s.t, "status"),
			cumulative:     rapid.Bool().Draw(s.t, "cumulative"),
		}
		if h.cumulative {
			total = min(total+part, payment.amount)
			h.amount = total
		}
		s.add(h)
	}
}

// body returns the body that the provider would post.
func (h happening) body(t require.TestingT) []byte {
	metadata := map[string]any{}
	set := func(in map[string]any, key string, value any) {
		switch value {
		case "", int64(0):
		default:
			in[key] = value
		}
	}
	set(metadata, "user_id", h.user)
	set(metadata, "kind", h.kind)
	object := map[string]any{"metadata": metadata, "status": h.newStatus}
	switch h.eventType {
	case "refund.created", "dispute.created":
		transaction := map[string]any{"id": h.payment, "amount_paid": h.paid}
		object["status"] = h.reversalStatus
		if h.cumulative {
			transaction["refunded_amount"] = h.amount
		} else {
			object["refund_amount"] = h.amount
		}
		object["transaction"] = transaction
	case "checkout.completed":
		order := map[string]any{"amount_paid": h.amount, "currency": "EUR"}
		set(order, "id", h.order)
		set(order, "transaction", h.payment)
		object["order"] = order
		set(object, "subscription", h.subscription)
		set(metadata, "credits", h.credits)
	default:
		object["id"] = h.subscription
		set(object, "last_transaction_id", h.payment)
		set(metadata, "credits", h.credits)
	}
	body, err := json.Marshal(map[string]any{
		"id": h.id, "eventType": h.eventType, "created_at": h.at.UnixMilli(), "object": object,
	})
	require.NoError(t, err)
	return body
}

// event returns the event that the projector decodes from the log.
func (h happening) event(t require.TestingT, seq int) events.Event {
	return providers.Decode(events.Message{Provider: "provider", Seq: uint64(seq), Body: h.body(t), ReceivedAt: shopOpens.AddDate(0, 2, 0)})
}
