package projections_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/payfold/payfold/internal/catalogue"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
)

// shopSells is what the random shop sells.
const shopSells = `
version: 1
products:
  pack: {kind: one_time, credits: 10}
  pack_valid: {kind: one_time, credits: 7, valid_months: 3}
  plan: {kind: subscription, credits: 100}
  plus: {kind: subscription, credits: 300, trial_credits: 5}
  bare: {kind: subscription}
  yearly: {kind: subscription, credits: 10, drip: monthly, months: 12}
  tool: {kind: pro}
  tool_monthly: {kind: pro, lasts: subscription}
  donation: {kind: none}
`

// Random events in neutral words, with a catalogue and without one.
func TestARandomShopGivesTheTablesOfTheModel(t *testing.T) {
	t.Parallel()
	sold, err := catalogue.Parse([]byte(shopSells))
	require.NoError(t, err)
	for name, sold := range map[string]*catalogue.Catalogue{"catalogue": sold, "metadata": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				requireModel(t, projections.ModeLive, sold, newShop(t,
					sold != nil).open())
			})
		})
	}
}

// shop draws what its customers do.
type shop struct {
	t              *rapid.T
	listed         bool // the catalogue says what is sold
	now            time.Time
	count          int
	provider, user string
	log            []events.Event
	licence        bool // the purchase is one
}

func newShop(t *rapid.T, listed bool) *shop {
	return &shop{t: t, listed: listed, now: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)}
}

func (s *shop) open() []events.Event {
	for range rapid.IntRange(1, 4).Draw(s.t, "purchases") {
		s.user = rapid.SampledFrom([]string{"u1", "u2"}).Draw(s.t, "user")
		s.provider = rapid.SampledFrom([]string{"stripe", "paddle"}).Draw(s.t, "provider")
		what := s.oneOf("pack", "licence", "gift", "given", "subscription", "subscription",
			"membership")
		s.licence = what == "licence" || what == "membership"
		switch what {
		case "pack":
			s.buy("one_time", "pack", "pack_valid")
		case "licence":
			s.buy("pro", "tool")
		case "gift":
			s.buy("none", "donation")
		case "given":
			s.give()
		case "subscription":
			s.subscribe("subscription", "plan", "plus", "bare", "yearly")
		case "membership":
			s.subscribe("pro", "tool_monthly", "tool")
		}
	}
	return disturbed(s.t, withRefunds(s.t, s.log))
}

func (s *shop) oneOf(some ...string) string { return rapid.SampledFrom(some).Draw(s.t, "choice") }

func (s *shop) often() bool { return rapid.IntRange(0, 3).Draw(s.t, "often") > 0 }

func (s *shop) seldom() bool { return rapid.IntRange(0, 3).Draw(s.t, "seldom") == 3 }

func (s *shop) fresh(prefix string) string {
	s.count++
	return fmt.Sprintf("%s%d", prefix, s.count)
}

// pass lets time go by. Some events have the same time.
func (s *shop) pass() {
	s.now = s.now.Add(time.Duration(rapid.SampledFrom([]int{0, 1, 24, 240}).Draw(s.t, "hours")) * time.Hour)
}

// add sends the event. Its user is not always in it, and the shop's own events may be about any payment.
func (s *shop) add(e events.Event) {
	s.pass()
	e.ID, e.Provider, e.OccurredAt, e.Mode = s.fresh("e"), s.provider, s.now, events.Live
	if s.licence && !licencesAtOneMoment {
		e.OccurredAt = e.OccurredAt.Add(time.Duration(s.count) * time.Microsecond)
	}
	if s.seldom() {
		e.Provider = events.OwnEvents
	}
	if e.UserID == "" && s.often() {
		if e.UserID = s.user; rapid.IntRange(0, 9).Draw(s.t, "stranger") == 9 {
			e.UserID = "stranger"
		}
	}
	s.spoil(&e)
	s.log = append(s.log, e)
}

// spoil may write something into the event that cannot be used.
func (s *shop) spoil(e *events.Event) {
	switch rapid.IntRange(0, 59).Draw(s.t, "spoiled") {
	case 59:
		e.InvalidText = true
	case 58:
		e.Kind = "gift"
	case 57:
		if e.Kind = "one_time"; s.listed {
			e.Kind = "pro"
		}
	case 56:
		e.Credits = events.Number{Present: true, Bad: true}
	case 55:
		e.Credits = events.Number{Present: true, Value: -1}
	case 54:
		e.Units = events.Number{Present: true, Bad: true}
	case 53:
		e.Mode = events.Test
	case 52:
		e.Action = events.None
	}
}

// sell writes into the event what was sold.
func (s *shop) sell(e *events.Event, kind, product string) {
	if s.often() {
		e.Amount, e.Currency = events.Number{Value: rapid.Int64Range(0, 20).Draw(s.t, "price") * 100, Present: true},
			"EUR"
		e.Amount.Bad = s.seldom()
		e.AmountOfTransaction = e.Transaction != "" && s.seldom()
	}
	if kind == "pro" && s.often() {
		e.GitHubUser = s.oneOf("octo", "cat", "hub")
	}
	units := events.Number{Value: rapid.Int64Range(1, 5).Draw(s.t, "units"), Present: s.seldom()}
	if s.listed {
		says := s.oneOf("product", "product", "items", "key", "nothing", "unlisted")
		switch says {
		case "product":
			e.Product, e.Units = product, units
		case "key":
			e.ProductKey = product
		case "items":
			e.Items = []events.Item{
				{Product: s.oneOf("addon", "donation"), Units: units, Amount: events.Number{Value: 5, Present: true}},
				{Product: "prod", Price: product, Units: units},
			}
		case "unlisted":
			e.Product = "unlisted"
		}
		return
	}
	if s.often() {
		e.Kind = kind
	}
	if s.often() && kind != "pro" && kind != "none" {
		e.Credits, e.Units = events.Number{Value: rapid.Int64Range(1, 9).Draw(s.t, "credits") * 10, Present: true},
			units
	}
	if s.often() {
		e.ProductKey = product
	}
}

// buy sends one to three events of one payment.
func (s *shop) buy(kind string, products ...string) {
	transaction, order := s.fresh("t"), s.fresh("o")
	if kind == "none" && !s.listed {
		kind = "one_time"
	}
	if !s.listed && !differentKeysOfAPayment {
		products = products[:1]
	}
	for i := range rapid.IntRange(1, 3).Draw(s.t, "events") {
		e := events.Event{Action: events.Payment, Transaction: transaction, Order: order}
		if i > 0 {
			switch s.oneOf("both", "order", "transaction") {
			case "order":
				e.Transaction = ""
			case "transaction":
				e.Order = ""
			}
		}
		e.Unpaid = s.seldom()
		e.Checkout = s.oneOf("", "", "c1", "c2")
		s.sell(&e, kind, s.oneOf(products...))
		s.add(e)
	}
}

// give sends events in which the shop itself grants credits.
func (s *shop) give() {
	transaction := s.fresh("t")
	for range rapid.IntRange(1, 3).Draw(s.t, "events") {
		e := events.Event{Action: events.Payment, Transaction: transaction, Kind: "one_time", Given: true}
		if s.often() {
			e.Credits = events.Number{Value: rapid.Int64Range(0, 9).Draw(s.t, "credits"), Present: true}
		}
		if s.seldom() {
			e.Expires = s.now.AddDate(0, 0, rapid.IntRange(1, 60).Draw(s.t, "days"))
		}
		s.add(e)
	}
}

// subscribe sends the life of a subscription, which the provider names or not.
func (s *shop) subscribe(kind string, products ...string) {
	id, product := s.fresh("s"), s.oneOf(products...)
	if rapid.Bool().Draw(s.t, "unnamed") && kind == "subscription" {
		id = ""
	}
	s.count++
	start := s.now.Add(time.Duration(s.count) * time.Minute)
	if s.often() && id != "" {
		e := events.Event{Action: events.Checkout, SubscriptionID: id, Recurring: true, Status: s.oneOf("", "active",
			"trialing", "incomplete")}
		e.Checkout = s.oneOf("", "c1", "c2")
		s.sell(&e, kind, product)
		s.add(e)
	}
	transaction := ""
	for range rapid.IntRange(1, 7).Draw(s.t, "life") {
		switch what := s.oneOf("payment", "renewal", "renewal", "change", "status", "status"); what {
		case "payment", "renewal", "change":
			months := 1
			if product == "yearly" { // the model does not know drips that are replaced within their period
				months, what = 12, "renewal"
			}
			if what == "renewal" || id == "" && !periodsOfImplicitSubscriptions {
				start = start.AddDate(0, months, 0)
				s.now = start
			}
			if what == "change" && product != "yearly" && kind == "subscription" {
				product = s.oneOf("plan", "plus", "bare")
			}
			transaction = s.fresh("t")
			e := events.Event{
				Action: events.Payment, SubscriptionID: id, Recurring: true, Transaction: transaction,
				Status: s.oneOf("", "", "", "trialing", "past_due"),
			}
			if s.often() {
				e.PeriodStart, e.PeriodEnd = start, start.AddDate(0, months, 0)
				e.Prorated = what == "change" && s.often()
			}
			e.Unpaid = s.seldom()
			e.Trial, e.MayBeginTrial = s.seldom(), s.often()
			e.Checkout = s.oneOf("", "", "", "c3")
			s.sell(&e, kind, product)
			s.add(e)
		case "status":
			e := events.Event{Action: events.Subscription, SubscriptionID: id, Recurring: true}
			e.Status = s.oneOf("active", "past_due", "paused", "scheduled_cancel", "canceled", "canceled", "canceled",
				"expired",
				"unpaid", "trialing", "strange")
			if id == "" {
				e.UserID = s.user // else the order of arrival decides whose it is
			}
			if s.seldom() {
				e.PeriodStart, e.PeriodEnd = start, start.AddDate(0, 1, 0)
			}
			if s.seldom() {
				e.Status, e.Extended = s.oneOf("", e.Status), start.AddDate(0, 0, rapid.IntRange(1, 90).Draw(s.t, "days"))
			}
			if e.Status == "canceled" && s.seldom() {
				e.CanceledAt = s.now.Add(-time.Minute)
			}
			e.Begins = e.Status == "active" && s.seldom()
			if id != "" {
				e.Checkout = s.oneOf("", "", "", "c4")
			}
			if s.seldom() && id != "" && transaction != "" { // it shows its newest payment
				e.Transaction, e.Order = transaction, "o"+transaction
			}
			if s.seldom() {
				s.sell(&e, kind, product)
				e.Amount, e.Currency, e.AmountOfTransaction = events.Number{}, "", false
			}
			s.add(e)
		}
	}
}
