package projections

import (
	"fmt"
	"time"

	"github.com/payfold/payfold/internal/catalogue"
	"github.com/payfold/payfold/internal/events"
)

// The worlds of this file are of neutral events, because no single provider sends all of these facts.

const catalogueOfLives = `
version: 1
products:
  small: {kind: subscription, credits: 100}
  big: {kind: subscription, credits: 500, valid_months: 2}
  drip: {kind: subscription, credits: 30, drip: monthly, months: 6}
  rain: {kind: subscription, credits: 50, drip: monthly, months: 12, valid_months: 1}
  plain: {kind: subscription}
  pack: {kind: one_time, credits: 200}
  tool: {kind: pro}
`

// worldsOfLives returns the worlds in which subscriptions begin, change and end, and money goes to and fro.
func worldsOfLives() []world {
	var all []world
	for _, rules := range []Rules{anyMode, {Mode: ModeAny, Catalogue: catalogueOf(catalogueOfLives)}} {
		of := ""
		if rules.Catalogue != nil {
			of = " of a catalogue"
		}
		for name, fill := range map[string]func(*world){
			"reversals that change": (*world).changingReversals, "unpaid payments and trials": (*world).unpaidAndTrials,
			"two payments of one period": (*world).samePeriods, "cancellations and later payments": (*world).cancellations,
			"several users and kinds": (*world).severalUsers, "gifts": (*world).gifts,
			"extensions": (*world).extensions,
		} {
			w := world{name: name + of, rules: rules, ending: ending, has: map[string]bool{}}
			fill(&w)
			all = append(all, w)
		}
	}
	special := catalogueOf(catalogueOfLives)
	special.Offer("small", receivedAt).TrialCredits = 5
	special.Offer("drip", receivedAt).TrialCredits = 7
	special.Offer("tool", receivedAt).LastsAsSubscription = true
	for name, fill := range map[string]func(*world){
		"trials that grant credits": (*world).unpaidAndTrials, "licences that end with their subscription": (*world).cancellations,
	} {
		w := world{name: name, rules: Rules{Mode: ModeAny, Catalogue: special}, ending: ending, has: map[string]bool{}}
		fill(&w)
		all = append(all, w)
	}
	return all
}

func catalogueOf(text string) *catalogue.Catalogue {
	sold, err := catalogue.Parse([]byte(text))
	if err != nil {
		panic(err)
	}
	return sold
}

// put adds an event of that provider's time.
func (w *world) put(when time.Time, e events.Event) {
	e.ID, e.Type, e.Provider, e.Mode = fmt.Sprintf("e%d", len(w.shapes)), string(e.Action), "provider", events.AnyMode
	e.OccurredAt, e.ReceivedAt = when, receivedAt
	if e.ProductKey == "" {
		e.ProductKey = e.Product
	}
	w.shapes = append(w.shapes, e)
}

// of returns the event with the names of a payment: its transaction, its order or both.
func of(payment int, names string, e events.Event) events.Event {
	if names != "o" {
		e.Transaction = fmt.Sprintf("t%d", payment)
	}
	if names != "t" {
		e.Order = fmt.Sprintf("o%d", payment)
	}
	return e
}

func number(n int64) events.Number { return events.Number{Value: n, Present: true} }

// sold returns the ways in which an event says what was sold.
func (w *world) sold(products ...string) []events.Event {
	if w.rules.Catalogue == nil {
		return []events.Event{
			{Kind: KindSubscription, Credits: number(100)},
			{Kind: KindSubscription, Credits: number(500)},
			{Credits: number(30)},
			{Kind: KindOneTime, Credits: number(200)},
			{Kind: KindPro, GitHubUser: "ada"},
			{},
		}
	}
	var all []events.Event
	for _, product := range products {
		all = append(all, events.Event{Product: product}, events.Event{ProductKey: product}, events.Event{ProductKey: "pack", Product: product, Units: number(2)})
	}
	return append(all, events.Event{Product: "nothing"}, events.Event{ProductKey: "nothing", Kind: KindSubscription}, events.Event{})
}

// changingReversals adds refunds and disputes, each in several events, and what they take back.
func (w *world) changingReversals() {
	for _, names := range []string{"t", "o", "to"} {
		for i, e := range w.sold("pack", "tool", "drip") {
			e.Action, e.UserID = events.Payment, "u1"
			if i%2 == 0 {
				e.Amount, e.Currency = number(1000), "EUR"
			}
			w.put(minuteOf(i%3), of(1, names, e))
		}
		minute := 10
		for _, id := range []string{"f1", "f2"} {
			for _, status := range []events.ReversalStatus{events.Pending, events.Succeeded, events.Failed} {
				for _, amount := range []events.Number{{}, number(250), number(400), number(1000)} {
					for _, total := range []events.Number{{}, number(0), number(650)} {
						for _, paid := range []events.Number{{}, number(1000)} {
							e := events.Event{Action: events.Reverse, Reversal: events.Reversal{
								ID: id, Cause: events.Refund, Status: status, Amount: amount, Total: total, Paid: paid,
							}}
							if id == "f2" {
								e.Reversal.Cause, e.Reversal.Currency = events.Chargeback, []string{"", "EUR", "USD"}[minute%3]
							}
							minute++
							w.put(minuteOf(10+minute*37%11), of(1, names, e)) // some at once
						}
					}
				}
			}
		}
	}
}

// unpaidAndTrials adds payments that have not arrived, those of 0 with which a trial begins, and the ones after them.
func (w *world) unpaidAndTrials() {
	minute := 0
	for payment := 1; payment <= 2; payment++ {
		for _, names := range []string{"t", "o", "to"} {
			for _, subscription := range []string{"s1", ""} {
				for _, sold := range w.sold("small", "drip", "plain", "pack", "tool") {
					sold.UserID, sold.SubscriptionID, sold.Action = "u1", subscription, events.Payment
					for _, e := range []events.Event{
						{Unpaid: true, Amount: number(1000)},
						{Trial: true, Amount: number(0), Status: events.Trialing, PeriodStart: startOf(1), PeriodEnd: startOf(2)},
						{Amount: number(1000), PeriodStart: startOf(2), PeriodEnd: startOf(3)},
						{Amount: number(1000), Status: events.PastDue, PeriodStart: startOf(1), PeriodEnd: startOf(2)},
					} {
						said := sold
						said.Unpaid, said.Trial, said.Amount, said.Status = e.Unpaid, e.Trial, e.Amount, e.Status
						said.PeriodStart, said.PeriodEnd = e.PeriodStart, e.PeriodEnd
						minute++
						w.put(minuteOf(minute*37%101), of(payment, names, said))
					}
				}
			}
		}
	}
	w.statuses("s1", events.Trialing, events.Incomplete, events.Active, events.Unpaid, events.Expired)
	w.put(minuteOf(200), of(1, "t", events.Event{Action: events.Reverse, Reversal: events.Reversal{Cause: events.Refund, Status: events.Succeeded}}))
}

// samePeriods adds payments of two periods, with changes of the plan.
func (w *world) samePeriods() {
	day := 0
	for payment := 1; payment <= 3; payment++ {
		for _, names := range []string{"t", "to"} {
			for _, sold := range w.sold("small", "big", "drip", "rain", "plain") {
				for _, period := range [][]time.Time{{startOf(1), startOf(2)}, {startOf(1), startOf(7)}, {{}, {}}} {
					for _, user := range []string{"u1", ""} {
						e := sold
						e.Action, e.SubscriptionID, e.Recurring, e.UserID, e.Amount = events.Payment, "s1", true, user, number(1000)
						e.PeriodStart, e.PeriodEnd, e.Prorated = period[0], period[1], payment == 3
						day++
						w.put(startOf(1).AddDate(0, payment-1, payment*5).Add(time.Duration(day%3)*time.Minute), of(payment, names, e))
					}
				}
			}
		}
		for _, status := range []events.ReversalStatus{events.Succeeded, events.Failed} {
			w.put(startOf(5), of(payment, "t", events.Event{Action: events.Reverse, Reversal: events.Reversal{ID: "f1", Cause: events.Refund, Status: status, Amount: number(500)}}))
		}
	}
	for _, sold := range w.sold("small", "big", "drip", "rain", "plain", "pack", "tool") {
		for month := 1; month <= 3; month++ {
			for _, action := range []events.Action{events.Checkout, events.Subscription} {
				e := sold
				e.Action, e.SubscriptionID, e.Recurring, e.UserID, e.Status = action, "s1", true, "u1", events.Active
				w.put(startOf(month), e)
			}
		}
	}
}

// cancellations adds what ends a subscription, and payments that may begin it again.
func (w *world) cancellations() {
	day := 0
	for payment := 1; payment <= 2; payment++ {
		for _, sold := range w.sold("small", "plain", "pack", "tool") {
			for _, subscription := range []string{"s1", "s2", ""} {
				for _, period := range [][]time.Time{{startOf(1), startOf(2)}, {startOf(2), startOf(3)}, {{}, {}}, {{}, startOf(4)}} {
					for _, status := range []string{"", events.Active, events.Trialing, events.PastDue, events.ScheduledCancel, events.Canceled} {
						e := sold
						e.Action, e.SubscriptionID, e.Recurring, e.UserID, e.Status = events.Payment, subscription, true, "u1", status
						e.PeriodStart, e.PeriodEnd = period[0], period[1]
						day++
						w.put(startOf(1).AddDate(0, 0, payment*17).Add(time.Duration(day%5)*time.Minute), of(payment, "t", e))
					}
				}
			}
		}
	}
	for _, subscription := range []string{"s1", "s2", ""} {
		w.statuses(subscription, events.Trialing, events.Active, events.PastDue, events.Paused, events.ScheduledCancel, events.Expired, events.Canceled)
	}
	w.put(startOf(3), of(1, "t", events.Event{Action: events.Reverse, Reversal: events.Reversal{Cause: events.Refund, Status: events.Succeeded}}))
}

// severalUsers adds claims of one payment by different users, as different kinds, and of different subscriptions.
func (w *world) severalUsers() {
	minute := 0
	for payment := 1; payment <= 2; payment++ {
		for _, names := range []string{"t", "o", "to"} {
			for _, user := range []string{"u1", "u2", ""} {
				for _, subscription := range []string{"s1", "s2", ""} {
					for _, sold := range w.sold("small", "drip", "pack", "tool") {
						for _, action := range []events.Action{events.Payment, events.Checkout, events.Subscription} {
							sold.Action, sold.UserID, sold.SubscriptionID = action, user, subscription
							minute++
							w.put(minuteOf(minute*37%41), of(payment, names, sold)) // many at once
						}
					}
				}
			}
			w.put(minuteOf(50), of(payment, names, events.Event{Action: events.Reverse, Reversal: events.Reversal{Cause: events.Refund, Status: events.Succeeded}}))
		}
	}
	w.statuses("s1", events.Active, events.Canceled)
}

// gifts adds credits that the shop gives, some under the names of payments, and reversals of them.
func (w *world) gifts() {
	for payment := 1; payment <= 2; payment++ {
		for _, names := range []string{"t", "o", "to"} {
			for _, credits := range []events.Number{number(100), number(200), {}, {Present: true, Bad: true}} {
				for i, expires := range []time.Time{{}, startOf(2), startOf(4)} {
					for _, user := range []string{"u1", "u2", ""} {
						w.put(minuteOf(i*payment), of(payment, names, events.Event{
							Action: events.Payment, UserID: user, Kind: KindOneTime, Given: true, Credits: credits, Expires: expires,
						}))
					}
				}
			}
			for i, sold := range w.sold("pack", "big", "tool") {
				sold.Action, sold.UserID, sold.Amount = events.Payment, "u1", number(1000)
				w.put(minuteOf(i%3), of(payment, names, sold))
			}
			for i, taken := range []events.Reversal{{}, {Amount: number(500)}, {Credits: number(30)}, {Credits: number(150)}} {
				for _, status := range []events.ReversalStatus{events.Succeeded, events.Failed} {
					for _, id := range []string{"", "f1"} {
						taken.ID, taken.Cause, taken.Status = id, events.Refund, status
						w.put(minuteOf(10+i), of(payment, names, events.Event{Action: events.Reverse, Reversal: taken}))
					}
				}
			}
		}
	}
}

// extensions adds events in which the shop extends a subscription, between payments and other statuses.
func (w *world) extensions() {
	for _, subscription := range []string{"s1", ""} {
		for day := range 40 {
			for _, status := range []string{"", events.Active} {
				e := events.Event{Action: events.Subscription, SubscriptionID: subscription, Recurring: true, UserID: "u1", Status: status}
				e.Extended = startOf(1+day%5).AddDate(0, 0, day%3)
				w.put(startOf(1).AddDate(0, 0, day*37%61), e)
			}
		}
		w.statuses(subscription, events.Active, events.PastDue, events.ScheduledCancel, events.Canceled)
		for payment := 1; payment <= 2; payment++ {
			for _, sold := range w.sold("small", "tool") {
				sold.Action, sold.SubscriptionID, sold.Recurring, sold.UserID = events.Payment, subscription, true, "u1"
				sold.PeriodStart, sold.PeriodEnd = startOf(payment), startOf(payment+1)
				w.put(startOf(payment), of(payment, "t", sold))
			}
		}
	}
}

// statuses adds events about the status of a subscription.
func (w *world) statuses(subscription string, statuses ...string) {
	for i, status := range statuses {
		for _, user := range []string{"u1", "", "u2"} {
			for _, end := range []time.Time{{}, startOf(2), startOf(4)} {
				for _, product := range []string{"", "small", "tool"} {
					e := events.Event{
						Action: events.Subscription, SubscriptionID: subscription, Recurring: true, UserID: user, Status: status, PeriodEnd: end, Product: product,
					}
					if status == events.Canceled && i%2 == 0 {
						e.CanceledAt = startOf(2)
					}
					w.put(startOf(1).AddDate(0, 0, len(w.shapes)*37%61), e)
				}
			}
		}
	}
}
