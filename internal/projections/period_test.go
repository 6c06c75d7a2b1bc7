package projections

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
)

// part is a payment of subscription s1 on a day of January 2026, by default for the period from the fifth on.
type part struct {
	day     int
	product string
	units   int64
	until   time.Time
	payment int // by default its place in the list

	prorated bool
}

func (w *world) pay(parts ...part) {
	for i, p := range parts {
		e := events.Event{Action: events.Payment, SubscriptionID: "s1", Recurring: true, UserID: "u1", Product: p.product, Prorated: p.prorated}
		if p.units > 0 {
			e.Units = number(p.units)
		}
		if !p.until.IsZero() {
			e.PeriodStart, e.PeriodEnd = startOf(1), p.until
		}
		if p.payment == 0 {
			p.payment = i + 1
		}
		w.put(dayOf(p.day), of(p.payment, "t", e))
	}
}

func dayOf(day int) time.Time { return startOf(1).AddDate(0, 0, day-5) }

// fold folds the events of the world in that order.
func (w *world) fold(order []int) *State {
	s := NewState()
	w.ends(s, w.shapes, order)
	return s
}

func soldInLives() *world {
	return &world{rules: Rules{Mode: ModeAny, Catalogue: catalogueOf(catalogueOfLives)}, ending: ending, has: map[string]bool{}}
}

func TestOnePeriodGrantsAsMuchAsItsLargestPayment(t *testing.T) {
	t.Parallel()
	month, half := startOf(2), startOf(7)
	const half30 = "2026-01: 30, 2026-02: 30, 2026-03: 30, 2026-04: 30, 2026-05: 30, 2026-06: 30"
	for name, c := range map[string]struct {
		parts []part
		want  string
	}{
		"an upgrade":                  {[]part{{day: 5, product: "small", until: month}, {day: 15, product: "big", until: month}}, "2026-01: 100, 2026-01 until 2026-03: 400"},
		"a downgrade":                 {[]part{{day: 5, product: "big", until: month}, {day: 15, product: "small", until: month}}, "2026-01 until 2026-03: 500"},
		"more seats":                  {[]part{{day: 5, product: "small", units: 2, until: month}, {day: 15, product: "small", units: 5, until: month}}, "2026-01: 500"},
		"up, down and up":             {[]part{{day: 5, product: "small", until: month}, {day: 6, product: "big", until: month}, {day: 7, product: "small", until: month}, {day: 8, product: "big", until: month}}, "2026-01: 100, 2026-01 until 2026-03: 400"},
		"two periods":                 {[]part{{day: 5, product: "small", until: month}, {day: 36, product: "big", until: startOf(3)}}, "2026-01: 100, 2026-02 until 2026-04: 500"},
		"no known period":             {[]part{{day: 5, product: "small"}, {day: 15, product: "big"}}, "2026-01: 100, 2026-01 until 2026-03: 500"},
		"what is not sold":            {[]part{{day: 5, product: "nothing", until: month}, {day: 15, product: "small", until: month}}, "2026-01: 100"},
		"a drip alone":                {[]part{{day: 5, product: "drip", until: half}}, half30},
		"an equal drip":               {[]part{{day: 5, product: "drip", until: half}, {day: 15, product: "drip", until: half}}, half30},
		"it is told again":            {[]part{{day: 5, product: "drip", until: half}, {day: 15, product: "drip", until: half}, {day: 16, product: "drip", until: half, payment: 2}}, half30},
		"another drip":                {[]part{{day: 5, product: "drip", until: half}, {day: 46, product: "rain", until: half}}, "2026-01: 30, 2026-02: 30, 2026-02 until 2026-03: 20, 2026-03 until 2026-04: 50, 2026-04 until 2026-05: 50, 2026-05 until 2026-06: 50, 2026-06 until 2026-07: 50"},
		"at once, then a drip":        {[]part{{day: 5, product: "small", until: half}, {day: 15, product: "drip", until: half}}, "2026-01: 100, 2026-04: 20, 2026-05: 30, 2026-06: 30"},
		"at once, then a lesser drip": {[]part{{day: 5, product: "big", until: half}, {day: 46, product: "drip", until: half}}, "2026-01 until 2026-03: 500"},
		"a drip, then at once":        {[]part{{day: 5, product: "drip", until: half}, {day: 46, product: "big", until: half}}, "2026-01: 30, 2026-02: 30, 2026-02 until 2026-04: 440"},
		"at once, and two drips": {
			[]part{{day: 5, product: "small", until: half}, {day: 15, product: "drip", until: half}, {day: 80, product: "rain", until: half}},
			"2026-01: 100, 2026-03 until 2026-04: 10, 2026-04 until 2026-05: 50, 2026-05 until 2026-06: 50, 2026-06 until 2026-07: 50",
		},
		"at once, and a drip that is told twice": {
			[]part{{day: 5, product: "small", until: half}, {day: 15, product: "drip", until: half}, {day: 80, product: "drip", until: half}},
			"2026-01: 100, 2026-04: 20, 2026-05: 30, 2026-06: 30",
		},
		"at once, and a drip that is told three times": {
			[]part{{day: 5, product: "small", until: half}, {day: 15, product: "drip", until: half}, {day: 50, product: "drip", until: half}, {day: 80, product: "drip", until: half}},
			"2026-01: 100, 2026-04: 20, 2026-05: 30, 2026-06: 30",
		},
		"at once, a drip, more at once, and a drip": {
			[]part{{day: 5, product: "small", until: half}, {day: 15, product: "drip", until: half}, {day: 80, product: "big", until: half}, {day: 85, product: "rain", until: half}},
			"2026-01: 100, 2026-03 until 2026-05: 400",
		},
		"a drip after what is not sold": {
			[]part{{day: 5, product: "nothing", until: half}, {day: 6, product: "rain", until: half}},
			"2026-01 until 2026-02: 50, 2026-02 until 2026-03: 50, 2026-03 until 2026-04: 50, 2026-04 until 2026-05: 50, 2026-05 until 2026-06: 50, 2026-06 until 2026-07: 50, " +
				"2026-07 until 2026-08: 50, 2026-08 until 2026-09: 50, 2026-09 until 2026-10: 50, 2026-10 until 2026-11: 50, 2026-11 until 2026-12: 50, 2026-12 until 2027-01: 50",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := soldInLives()
			w.pay(c.parts...)
			for _, order := range orders(len(c.parts)) {
				s := w.fold(order)
				require.Equal(t, c.want, monthsOf(s), order)
				sum, credits := int64(0), int64(0)
				for _, line := range s.Ledger.Lines() {
					sum += line.Delta
				}
				for _, p := range s.Payments.All() {
					credits += orZero(p.Credits)
				}
				require.Equal(t, sum, credits, "the payments say what they grant, %v", order)
			}
		})
	}
}

// The first payment of the period can be taken back, or older than the log.
func TestTheMonthsOfAChangeOfPlanEndWithItsPeriod(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		parts []part
		want  string
	}{
		"alone":            {[]part{{day: 46, product: "rain", until: startOf(4)}}, "2026-02 until 2026-03: 50, 2026-03 until 2026-04: 50"},
		"of a month":       {[]part{{day: 46, product: "small", until: startOf(4)}}, "2026-02: 100"},
		"without a period": {[]part{{day: 46, product: "drip"}}, "2026-02: 30, 2026-03: 30, 2026-04: 30, 2026-05: 30, 2026-06: 30, 2026-07: 30"},
	} {
		w := soldInLives()
		w.pay(c.parts...)
		w.shapes[0].Prorated = true
		require.Equal(t, c.want, monthsOf(w.fold([]int{0})), name)
	}
}

// The last month of a period has only one grant, and it is that of a month, too.
func TestAChangeOfPlanInTheLastMonthOfADripAddsTheDifference(t *testing.T) {
	t.Parallel()
	w := soldInLives()
	w.pay(part{day: 5, product: "drip", until: startOf(7)}, part{day: 165, product: "rain", until: startOf(7)})
	w.shapes[1].Prorated = true
	for _, order := range orders(2) {
		s := w.fold(order)
		require.EqualValues(t, 50-30, s.Ledger.grants("t2")[0].left, order)
		require.Equal(t, map[string]int64{"u1 subscription": 6*30 + 20}, leftOf(s), order)
	}
}

// A buyer of seats adds some every few days, until the subscription has forgotten the payments before.
func TestASubscriptionKeepsThePaymentOfItsPeriodAfterManyChanges(t *testing.T) {
	t.Parallel()
	w := soldInLives()
	w.pay(part{day: 5, product: "small", until: startOf(2)}, part{day: 36, product: "small", until: startOf(3)})
	order := []int{0, 1}
	for i := range 2 * keptPayments {
		w.pay(part{day: 37 + i, product: "small", until: startOf(3), payment: 3 + i})
		w.shapes[2+i].Prorated = true
		order = append(order, 2+i)
	}
	for range 2 {
		state, _ := w.fold(order).Subscriptions.Get("s1")
		require.Equal(t, []any{"t2", startOf(3)}, []any{state.ProviderPaymentID, state.CurrentPeriodEnd}, order)
		slices.Reverse(order)
	}
}

// A payment leaves its period, because an earlier event says that it is of another subscription.
func TestAPaymentThatIsAloneInItsPeriodAgainSaysWhatItGrants(t *testing.T) {
	t.Parallel()
	w := soldInLives()
	w.pay(part{day: 10, product: "big", until: startOf(2)}, part{day: 15, product: "small", until: startOf(2)}, part{day: 9, product: "big", until: startOf(2), payment: 1})
	w.shapes[2].SubscriptionID = "s2"
	for _, order := range orders(3) {
		s := w.fold(order)
		p, _ := s.Payments.Get("t2")
		require.EqualValues(t, 100, orZero(p.Credits), order)
		require.Equal(t, map[string]int64{"u1 subscription": 600}, leftOf(s), order)
	}
}

// A provider can tell many failed charges of one period, without the period.
func TestManyEventsWithoutAPeriodLeaveThePeriod(t *testing.T) {
	t.Parallel()
	w := soldInLives()
	plan := events.Event{
		Action: events.Subscription, SubscriptionID: "s1", Recurring: true, Product: "small", Status: events.Active,
	}
	for _, month := range []int{1, 2} {
		plan.PeriodEnd = startOf(month + 1)
		w.put(startOf(month), plan)
	}
	plan.PeriodEnd, plan.Status = time.Time{}, events.PastDue
	order := []int{0, 1}
	for day := range 3 * keptChanges {
		w.put(startOf(3).AddDate(0, 0, day), plan)
		order = append(order, len(order))
	}
	for range 2 {
		state, _ := w.fold(order).Subscriptions.Get("s1")
		require.Equal(t, []any{events.PastDue, startOf(3), startOf(3)},
			[]any{state.Status, state.CurrentPeriodEnd, state.CountsUntil}, order)
		slices.Reverse(order)
	}
}

// Of two checkouts of one moment the first in the alphabet sells the payments before it.
func TestACheckoutOfTheSameMomentSellsEarlierPaymentsInAnyOrder(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]events.Event{"at once": {Product: "small"}, "only the buyer names the product": {ProductKey: "small"}} {
		w := soldInLives()
		w.pay(part{day: 10})
		second := events.Event{Product: "big"}
		want := "small"
		for i, e := range []events.Event{first, second} {
			e.Action, e.SubscriptionID, e.Status = events.Checkout, "s1", events.Active
			when := dayOf(20)
			if i == 0 && e.Product == "" {
				when, want = dayOf(5), "big"
			}
			w.put(when, e)
		}
		for _, order := range orders(3) {
			p, _ := w.fold(order).Payments.Get("t1")
			require.Equal(t, want, p.ProductKey, "%s %v", name, order)
		}
	}
}

// The months of a drip begin with the event that granted it. They do not move when an earlier event of the payment comes
// later: what a customer has spent was granted then.
func TestTheMonthsOfADripDoNotMove(t *testing.T) {
	t.Parallel()
	w := soldInLives()
	w.pay(part{day: 30, product: "drip"}, part{day: 33, product: "drip", payment: 1})
	for _, order := range orders(2) {
		s := w.fold(order)
		require.Len(t, s.Ledger.Inserted(), 6, order)
		begin := map[int]int{0: 30, 1: 33}[order[0]]
		require.Equal(t, dayOf(begin), s.Ledger.grants("t1")[0].AvailableAt, order)
	}
}

// A provider can change the plan only after the payment for it has arrived, and then tells it after the payment.
func TestAPaymentIsForTheChangeThatIsToldWithIt(t *testing.T) {
	t.Parallel()
	for late, want := range map[time.Duration]string{
		-time.Hour: "big", 0: "big", sentTogether: "big", sentTogether + time.Microsecond: "small",
	} {
		w := soldInLives()
		w.pay(part{day: 10})
		plan := events.Event{Action: events.Subscription, SubscriptionID: "s1", Recurring: true, Status: events.Active}
		plan.Product = "small"
		w.put(dayOf(5), plan)
		plan.Product = "big"
		w.put(dayOf(10).Add(late), plan)
		for _, order := range orders(3) {
			s := w.fold(order)
			p, _ := s.Payments.Get("t1")
			require.Equal(t, want, p.ProductKey, "%s %v", late, order)
		}

		s := w.fold([]int{0, 1})
		s.Settle()
		since, changed := w.rules.Since(s, w.shapes[2:])["s1"]
		require.True(t, changed)
		require.Equal(t, want == "big", !dayOf(10).Before(since), "the payment is loaded: %s", late)
	}
}

// The months of a payment on the 31st meet, also where a month is shorter: the customer has credits all the time, and a
// change of plan on the last days of a month finds the month in which it comes.
func TestTheMonthsOfADripMeetAtTheEndsOfMonths(t *testing.T) {
	t.Parallel()
	for _, day := range []int{28, 29, 30, 31} {
		w := soldInLives()
		w.pay(part{day: day, product: "rain"})
		months := w.fold([]int{0}).Ledger.grants("t1")
		require.Len(t, months, 12)
		for i := range months[1:] {
			require.Equal(t, months[i+1].AvailableAt, months[i].ExpiresAt, "paid on %d January, month %d", day, i+1)
		}
	}
	changed := soldInLives()
	year := startOf(1).AddDate(1, 0, 0)
	changed.pay(part{day: 31, product: "drip", until: year}, part{day: 31 + 28 + 30, product: "rain", until: year})
	for _, order := range orders(2) {
		months := changed.fold(order).Ledger.grants("t2")
		require.EqualValues(t, 50-30, months[0].left, "paid on 30 March, in the month that began on 28 February, %v", order)
	}
}

// The first month of a drip can grant nothing, because an earlier payment of the period has granted as much. Further events
// of the payment, and of the other payments of the period, write nothing more.
func TestADripWhoseFirstMonthAddsNothingIsWrittenOnce(t *testing.T) {
	t.Parallel()
	half := startOf(7)
	for _, first := range []string{"drip", "small"} { // it has granted the first month, or the first three
		w := soldInLives()
		w.pay(part{day: 5, product: first, until: half}, part{day: 15, product: "drip", until: half})
		once := len(w.fold([]int{0, 1}).Ledger.Lines())
		w.pay(part{day: 15, product: "drip", until: half, payment: 2}, part{day: 5, product: first, until: half, payment: 1},
			part{day: 16, product: "drip", until: half, payment: 2})
		s := w.fold([]int{0, 1, 2, 3, 4})
		require.Len(t, s.Ledger.Lines(), once, first)
		require.Equal(t, "e1", s.Ledger.grants("t2")[0].EventID, first)
		require.Equal(t, ending(w.fold([]int{4, 3, 2, 1, 0})), ending(s), first)
	}
}

// What went back of a payment does not count for the others of its period: the customer has what is paid for. A refund of
// nearly all leaves as much as a refund of all.
func TestAPeriodGrantsWhatItsPaymentsKeep(t *testing.T) {
	t.Parallel()
	month, half := startOf(2), startOf(7)
	refund := func(payment int, e events.Reversal) events.Event {
		e.ID, e.Cause, e.Status = "r", events.Refund, events.Succeeded
		return of(payment, "t", events.Event{Action: events.Reverse, Reversal: e})
	}
	for name, c := range map[string]struct {
		parts  []part
		refund events.Event
		want   string
	}{
		"an upgrade": {
			[]part{{day: 5, product: "small", until: month}, {day: 15, product: "big", until: month}},
			refund(1, events.Reversal{Amount: number(900)}), "2026-01: 10, 2026-01 until 2026-03: 490",
		},
		"a downgrade": {
			[]part{{day: 5, product: "big", until: month}, {day: 15, product: "small", until: month}},
			refund(1, events.Reversal{Amount: number(900)}), "2026-01: 50, 2026-01 until 2026-03: 50",
		},
		"a downgrade, less went back": {
			[]part{{day: 5, product: "big", until: month}, {day: 15, product: "small", until: month}},
			refund(1, events.Reversal{Amount: number(500)}), "2026-01 until 2026-03: 250",
		},
		"a downgrade, all went back": {
			[]part{{day: 5, product: "big", until: month}, {day: 15, product: "small", until: month}},
			refund(1, events.Reversal{Amount: number(1000)}), "2026-01: 100",
		},
		"credits that the shop has taken": {
			[]part{{day: 5, product: "small", until: month}, {day: 15, product: "big", until: month}},
			refund(1, events.Reversal{Credits: number(90)}), "2026-01: 10, 2026-01 until 2026-03: 400",
		},
		"the months of a drip": {
			[]part{{day: 5, product: "rain", until: half}, {day: 15, product: "drip", until: half}},
			refund(1, events.Reversal{Amount: number(900)}),
			"2026-01: 25, 2026-01 until 2026-02: 5, 2026-02: 30, 2026-03: 30, 2026-04: 30, 2026-05: 30, 2026-06: 30",
		},
		"months that had what was granted at once": {
			[]part{{day: 5, product: "small", until: half}, {day: 15, product: "drip", until: half}, {day: 80, product: "rain", until: half}},
			refund(2, events.Reversal{Amount: number(1000)}), "2026-01: 100, 2026-05 until 2026-06: 50, 2026-06 until 2026-07: 50",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := soldInLives()
			w.pay(c.parts...)
			for i := range w.shapes {
				w.shapes[i].Amount = number(1000)
			}
			w.put(dayOf(20), c.refund)
			for _, order := range orders(len(c.parts) + 1) {
				require.Equal(t, c.want, monthsOf(w.fold(order)), order)
			}
		})
	}
}
