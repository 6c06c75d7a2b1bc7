package projections

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/catalogue"
	"github.com/payfold/payfold/internal/events"
)

// status returns an event about the status of a subscription.
func status(subscription, status string) events.Event {
	return events.Event{Action: events.Subscription, SubscriptionID: subscription, Recurring: true, UserID: "u1", Status: status}
}

// requireStatus folds the events of the world in every order. Each time, the subscription must have that status.
func (w *world) requireStatus(t *testing.T, want, name string) {
	t.Helper()
	for _, order := range orders(len(w.shapes)) {
		rows := w.fold(order).Subscriptions.All()
		require.Len(t, rows, 1, name)
		require.Equal(t, want, rows[0].Status, "%s %v", name, order)
	}
}

func TestAPaymentForALaterPeriodBeginsACanceledSubscriptionAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		subscription string
		from         time.Time
		want         string
	}{
		"a period that begins later":           {"s1", startOf(2), "active"},
		"one that begins with the end":         {"s1", dayOf(20), "active"},
		"one that began before":                {"s1", startOf(1), "canceled"},
		"an unknown period":                    {"s1", time.Time{}, "canceled"},
		"an unknown period of an implicit one": {"", time.Time{}, "active"},
	} {
		w := soldInLives()
		w.pay(part{day: 5, product: "small", until: startOf(2)}, part{day: 36, product: "small"})
		w.shapes[0].SubscriptionID, w.shapes[1].SubscriptionID, w.shapes[1].PeriodStart = c.subscription, c.subscription, c.from
		canceled := status(c.subscription, events.Canceled)
		canceled.CanceledAt = dayOf(20)
		w.put(dayOf(21), canceled)
		w.requireStatus(t, c.want, name)
	}
}

// Usage and changes of the last period are paid when the subscription has ended. Its cancellation can have the time at which
// somebody asked for it, such as that of a fixed term.
func TestWhatIsPaidForACanceledPeriodDoesNotBeginItAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		from, until time.Time
		prorated    bool
		want        string
	}{
		"the rest of a change":          {dayOf(25), startOf(2), true, "canceled"},
		"usage of all of it":            {startOf(1), startOf(2), true, "canceled"},
		"all of it, paid late":          {startOf(1), startOf(2), false, "canceled"},
		"the next period":               {startOf(2), startOf(3), false, "active"},
		"one that began before the end": {dayOf(25), startOf(3), false, "active"},
		"one without an end":            {dayOf(25), time.Time{}, false, "active"},
	} {
		w := soldInLives()
		w.pay(part{day: 5, product: "small", until: startOf(2)}, part{day: 37, product: "small", until: c.until, prorated: c.prorated})
		w.shapes[0].PeriodStart, w.shapes[1].PeriodStart = startOf(1), c.from
		canceled := status("s1", events.Canceled)
		canceled.CanceledAt = dayOf(1)
		w.put(startOf(2), canceled)
		w.requireStatus(t, c.want, name)
	}
}

// A provider can reinstate a canceled subscription within its period, without a payment. The other events of that moment
// do not say so. Many changes may follow before the next payment.
func TestAProviderCanReinstateACanceledSubscription(t *testing.T) {
	t.Parallel()
	for _, later := range []int{0, 3 * keptChanges} {
		w := soldInLives()
		w.pay(part{day: 5, product: "small", until: startOf(2)})
		w.put(dayOf(8), status("s1", events.Canceled))
		w.put(dayOf(10), status("s1", events.Active))
		begins := status("s1", events.Active)
		begins.Begins = true
		for _, day := range []int{5, 11} {
			w.put(dayOf(day), begins)
		}
		order := []int{0, 1, 2, 3}
		for i := range later {
			w.put(dayOf(12).Add(time.Duration(i)*time.Minute), status("s1", events.Active))
		}
		for i := 4; i < len(w.shapes); i++ {
			order = append(order, i)
		}
		for range 2 {
			state, _ := w.fold(order).Subscriptions.Get("s1")
			require.Equal(t, []any{events.Active, time.Time{}, startOf(2)}, []any{state.Status, state.CanceledAt, state.CurrentPeriodEnd}, order)
			slices.Reverse(order)
		}
		w.put(dayOf(20), status("s1", events.Canceled))
		state, _ := w.fold(append(order, len(w.shapes)-1)).Subscriptions.Get("s1")
		require.Equal(t, events.Canceled, state.Status)
		without := slices.DeleteFunc(order, func(i int) bool { return i == 4 })
		state, _ = w.fold(without).Subscriptions.Get("s1")
		require.Equal(t, events.Canceled, state.Status, "only the event about it reinstates it")
	}
}

// What is paid late for the period that was paused does not end the pause: the provider says that itself.
func TestAScheduledCancellationAndAPauseStayUntilAPaymentForALaterPeriod(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		until time.Time
		says  string
		want  map[string]string // by the status before
	}{
		"the same period":        {startOf(2), "", map[string]string{events.ScheduledCancel: "scheduled_cancel", events.Paused: "paused"}},
		"an earlier period":      {startOf(1), "", map[string]string{events.ScheduledCancel: "scheduled_cancel", events.Paused: "paused"}},
		"a later period":         {startOf(3), "", map[string]string{events.ScheduledCancel: "active", events.Paused: "active"}},
		"an unknown period":      {time.Time{}, "", map[string]string{events.ScheduledCancel: "scheduled_cancel", events.Paused: "active"}},
		"a status of the period": {startOf(2), "past_due", map[string]string{events.ScheduledCancel: "past_due", events.Paused: "past_due"}},
	} {
		for before, want := range c.want {
			w := soldInLives()
			w.pay(part{day: 5, product: "small", until: startOf(2)}, part{day: 20, product: "small", until: c.until})
			w.shapes[1].Status = c.says
			w.put(dayOf(10), status("s1", before))
			w.requireStatus(t, want, before+", "+name)
		}
	}
}

func TestAPaymentSaysTheStatusOfItsSubscription(t *testing.T) {
	t.Parallel()
	sold := catalogueOf(catalogueOfLives)
	sold.Offer("plain", receivedAt).Kind = catalogue.None
	for name, c := range map[string]struct{ product, says, want string }{
		"nothing":                   {"small", "", "active"},
		"a trial":                   {"small", "trialing", "trialing"},
		"past due":                  {"small", "past_due", "past_due"},
		"not known to the provider": {"small", "unknown", "active"},
		"a pack":                    {"pack", "active", "incomplete"},
		"a licence":                 {"tool", "", "active"},
		"what grants nothing":       {"plain", "active", "incomplete"},
		"what is not sold":          {"nothing", "active", "incomplete"},
	} {
		w := soldInLives()
		w.rules.Catalogue = sold
		w.pay(part{day: 6, product: c.product})
		w.shapes[0].Status = c.says
		w.put(dayOf(5), status("s1", events.Incomplete))
		w.requireStatus(t, c.want, name)
	}
}

func TestTheSubscriptionThatGivesMostIsShown(t *testing.T) {
	t.Parallel()
	all := []string{"active", "trialing", "scheduled_cancel", "past_due", "paused", "expired"}
	for i, worse := range all {
		for _, better := range all[:i] {
			for _, first := range []string{"s1", "s2"} {
				w := soldInLives()
				w.put(dayOf(map[string]int{"s1": 5, "s2": 6}[first]), status("s1", better))
				w.put(dayOf(map[string]int{"s1": 6, "s2": 5}[first]), status("s2", worse))
				for _, order := range orders(2) {
					shown, _ := w.fold(order).Current.Get("u1")
					require.Equal(t, []string{"s1", better}, []string{shown.SubscriptionID, shown.Status}, fmt.Sprint(worse, first, order))
				}
			}
		}
	}
}

func TestALicenceSaysWhatEndedIt(t *testing.T) {
	t.Parallel()
	for _, lasts := range []bool{false, true} {
		w := soldInLives()
		w.rules.Catalogue.Offer("tool", receivedAt).LastsAsSubscription = lasts
		w.pay(part{day: 5, product: "tool"})
		w.put(dayOf(7), of(1, "t", events.Event{Action: events.Reverse, Reversal: events.Reversal{Cause: events.Refund, Status: events.Succeeded}}))
		w.put(dayOf(6), status("s1", events.Canceled))
		want := []any{"revoked", "e1", dayOf(7)}
		if lasts {
			want = []any{"revoked", "e2", dayOf(6)}
		}
		for _, order := range orders(3) {
			license, _ := w.fold(order).Licenses.Get("u1")
			require.Equal(t, want, []any{license.Status, license.EventID, license.RevokedAt}, "%t %v", lasts, order)
			require.Equal(t, want[1], fmt.Sprintf("e%d", order[license.StreamSeq-1]), "the place of that event")
		}
	}
}

func TestALicenceEndsWithItsSubscriptionAndBeginsAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lasts bool
		then  []string
		want  string
	}{
		"for ever":            {false, []string{"canceled"}, "active"},
		"canceled":            {true, []string{"canceled"}, "revoked"},
		"expired":             {true, []string{"expired"}, "revoked"},
		"past due":            {true, []string{"past_due"}, "active"},
		"expired, then again": {true, []string{"expired", "active"}, "active"},
	} {
		w := soldInLives()
		w.rules.Catalogue.Offer("tool", receivedAt).LastsAsSubscription = c.lasts
		w.pay(part{day: 5, product: "tool"})
		for i, one := range c.then {
			w.put(dayOf(6+i), status("s1", one))
		}
		for _, order := range orders(len(w.shapes)) {
			license, _ := w.fold(order).Licenses.Get("u1")
			require.Equal(t, c.want, license.Status, "%s %v", name, order)
		}
	}
}

// A month of a licence that is taken back ends the licence, although earlier months are paid.
func TestTheNewestPeriodOfASubscriptionGivesItsLicence(t *testing.T) {
	t.Parallel()
	first := part{day: 5, product: "tool", until: startOf(2), payment: 1}
	second := part{day: 35, product: "tool", until: startOf(3), payment: 2}
	late := part{day: 40, product: "tool", until: startOf(2), payment: 3}
	extra := part{day: 37, product: "tool", payment: 3}
	also := part{day: 36, product: "tool", until: startOf(3), payment: 3}
	year := part{day: 5, product: "tool", until: startOf(13), payment: 1}
	change := part{day: 20, product: "tool", until: startOf(2), prorated: true, payment: 3}
	toYear := part{day: 20, product: "tool", until: startOf(13), prorated: true, payment: 3}
	for name, c := range map[string]struct {
		lasts   bool
		parts   []part
		refunds []int
		want    string
	}{
		"nothing is taken back":            {true, []part{first, second}, nil, "active t2"},
		"the newest month":                 {true, []part{first, second}, []int{2}, "revoked t2"},
		"an older month":                   {true, []part{first, second}, []int{1}, "active t2"},
		"both":                             {true, []part{first, second}, []int{1, 2}, "revoked t2"},
		"one of two payments of the month": {true, []part{first, second, also}, []int{3}, "active t2"},
		"the other one":                    {true, []part{first, second, also}, []int{2}, "active t3"},
		"a month that is paid late":        {true, []part{second, late}, nil, "active t2"},
		"it is taken back":                 {true, []part{second, late}, []int{3}, "active t2"},
		"the month after it is":            {true, []part{second, late}, []int{2}, "revoked t2"},
		"what has no period":               {true, []part{first, second, extra}, []int{3}, "active t2"},
		"a month that replaced the year":   {true, []part{year, second}, []int{2}, "revoked t2"},
		"the year that it replaced":        {true, []part{year, second}, []int{1}, "active t2"},
		"a change":                         {true, []part{first, change}, []int{3}, "active t1"},
		"what was changed":                 {true, []part{first, change}, []int{1}, "active t3"},
		"a change to a year":               {true, []part{first, toYear}, []int{3}, "revoked t3"},
		"the month before it":              {true, []part{first, toYear}, []int{1}, "active t3"},
		"the newest month of one for ever": {false, []part{first, second}, []int{2}, "active t1"},
	} {
		w := soldInLives()
		w.rules.Catalogue.Offer("tool", receivedAt).LastsAsSubscription = c.lasts
		w.pay(c.parts...)
		for i, p := range c.parts {
			if p.until.Equal(startOf(3)) {
				w.shapes[i].PeriodStart = startOf(2)
			}
		}
		for _, payment := range c.refunds {
			w.put(dayOf(40+payment), of(payment, "t", events.Event{Action: events.Reverse, Reversal: events.Reversal{Cause: events.Refund, Status: events.Succeeded}}))
		}
		for _, order := range orders(len(w.shapes)) {
			license, _ := w.fold(order).Licenses.Get("u1")
			require.Equal(t, c.want, license.Status+" "+license.ProviderPaymentID, "%s %v", name, order)
		}
	}
}

// The shop can move the end of a period that is paid. What is paid for a change until then is of the same period.
func TestAPeriodWhoseEndWasMovedIsTheSame(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		refunds []int
		want    string
	}{
		"nothing is taken back":             {nil, "active t2"},
		"the change":                        {[]int{2}, "active t1"},
		"what was changed":                  {[]int{1}, "active t2"},
		"both":                              {[]int{1, 2}, "revoked t2"},
		"the change, and it is moved again": {[]int{2, 60}, "active t1"},
		"what was changed, and it is moved again":      {[]int{1, 60}, "active t2"},
		"both, and it is moved again after the change": {[]int{1, 2, 60}, "revoked t2"},
	} {
		w := soldInLives()
		w.rules.Catalogue.Offer("tool", receivedAt).LastsAsSubscription = true
		w.pay(part{day: 5, product: "tool", until: startOf(2)}, part{day: 20, product: "tool", until: dayOf(50), prorated: true})
		w.shapes[0].PeriodStart, w.shapes[1].PeriodStart = startOf(1), dayOf(20)
		longer := status("s1", events.Active) // for some more days
		longer.PeriodStart, longer.PeriodEnd = startOf(1), dayOf(50)
		if last := len(c.refunds) - 1; last > 0 && c.refunds[last] == 60 {
			c.refunds, longer.PeriodEnd = c.refunds[:last], dayOf(60)
		}
		w.put(dayOf(10), longer)
		for _, payment := range c.refunds {
			w.put(dayOf(40+payment), of(payment, "t", events.Event{Action: events.Reverse, Reversal: events.Reversal{Cause: events.Refund, Status: events.Succeeded}}))
		}
		for _, order := range orders(len(w.shapes)) {
			s := w.fold(order)
			license, _ := s.Licenses.Get("u1")
			require.Equal(t, c.want, license.Status+" "+license.ProviderPaymentID, "%s %v", name, order)
			state, _ := s.Subscriptions.Get("s1")
			require.Equal(t, "t1", state.ProviderPaymentID, "%s %v", name, order)
		}
	}
}

// A provider that changes months to years may leave the begin of the period as it was.
func TestAChangeToYearsBeginsAPeriodAlsoIfItsBeginStays(t *testing.T) {
	t.Parallel()
	w := soldInLives()
	w.pay(part{day: 5, product: "small", until: startOf(2)}, part{day: 20, product: "big", until: startOf(13), prorated: true})
	w.shapes[0].PeriodStart, w.shapes[1].PeriodStart = startOf(1), startOf(1)
	year := status("s1", events.Active)
	year.PeriodStart, year.PeriodEnd = startOf(1), startOf(13)
	w.put(dayOf(20), year)
	for _, order := range orders(len(w.shapes)) {
		state, _ := w.fold(order).Subscriptions.Get("s1")
		require.Equal(t, "t2", state.ProviderPaymentID, order)
	}
}
