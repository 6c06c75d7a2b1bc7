package explain

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/catalogue"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
)

// told is the log of a shop, folded in memory.
type told struct {
	state *projections.State
	rows  related
}

// tell folds events. Without a time or a provider, each event is a minute after the one before, and of the provider.
func tell(rules projections.Rules, log ...events.Event) told {
	state := projections.NewState()
	for i, e := range log {
		e.Seq, e.ReceivedAt = uint64(i+1), minute(100+i)
		e.Provider, e.Type = cmp.Or(e.Provider, "stripe"), cmp.Or(e.Type, string(e.Action))
		if e.OccurredAt.IsZero() {
			e.OccurredAt = minute(i + 1)
		}
		if e.Mode == "" {
			e.Mode = events.AnyMode
		}
		rules.Fold(state, e)
	}
	return told{state, relatedOf(state)}
}

func minute(n int) time.Time { return time.Date(2026, 1, 2, 10, n, 0, 0, time.UTC) }

// event returns the record of an event.
func (s told) event(t *testing.T, id string) projections.ProcessedEvent {
	t.Helper()
	at := slices.IndexFunc(s.state.Events.Inserted(), func(e projections.ProcessedEvent) bool { return e.EventID == id })
	require.NotEqual(t, -1, at, id)
	return s.state.Events.Inserted()[at]
}

// relatedOf has the rows of a state, as readRelated reads them from tables.
func relatedOf(s *projections.State) related {
	out := newRelated()
	payments := slices.DeleteFunc(s.Payments.Inserted(), func(p projections.Payment) bool { return p.TransactionID == "" && p.OrderID == "" })
	slices.SortFunc(payments, func(a, b projections.Payment) int { return cmp.Compare(a.StreamSeq, b.StreamSeq) })
	out.addPayments(payments)
	out.addPeriods(payments)
	for _, one := range s.Subscriptions.Inserted() {
		out.Subscriptions[one.SubscriptionID] = one
	}
	out.addReversals(s.Reversals.Inserted())
	out.addWaited(s.Events.Inserted(), payments)
	lines := s.Ledger.Lines()
	for _, e := range s.Events.Inserted() {
		out.addSums(e.EventID, lines)
	}
	return out
}

// addSums is ledger_sums.sql.
func (r related) addSums(event string, lines []projections.LedgerLine) {
	type grant struct {
		payment string
		line    int64
		granted bool
	}
	var sums, undone correction
	ofPayments, grants := map[string]int64{}, map[grant]bool{}
	for _, l := range lines {
		switch {
		case l.EventID != event:
		case l.Entry != "correction":
			ofPayments[l.ProviderPaymentID] += l.Delta
			if l.ReversesLine == nil {
				grants[grant{l.ProviderPaymentID, l.Line, true}] = true
			} else {
				grants[grant{l.ProviderPaymentID, *l.ReversesLine, false}] = true
			}
		case l.Delta < 0:
			sums.Undone -= l.Delta
		default:
			sums.GivenBack += l.Delta
		}
	}
	var own wrote
	for _, sum := range ofPayments {
		own.Granted += max(sum, 0)
		own.TookBack -= min(sum, 0)
	}
	r.Wrote[event] = own
	for _, l := range lines {
		if l.Entry != "correction" {
			continue
		}
		if l.Delta < 0 && grants[grant{l.ProviderPaymentID, *l.ReversesLine, true}] {
			undone.Undone -= l.Delta
		}
		if l.Delta > 0 && grants[grant{l.ProviderPaymentID, *l.ReversesLine, false}] {
			undone.GivenBack += l.Delta
		}
	}
	r.Corrected[event], r.Undone[event] = sums, undone
}

var (
	bare = projections.Rules{Mode: projections.ModeAny}
	shop = projections.Rules{Mode: projections.ModeAny, Catalogue: parsed(`
version: 1
products:
  pack: {kind: one_time, credits: 25}
  month: {kind: subscription, credits: 10}
  trial: {kind: subscription, credits: 10, trial_credits: 3}
  licence: {kind: pro}
  rented: {kind: pro, lasts: subscription}
  gift: {kind: none}
`)}
)

func parsed(text string) *catalogue.Catalogue {
	c, err := catalogue.Parse([]byte(text))
	if err != nil {
		panic(err)
	}
	return c
}

func number(n int64) events.Number { return events.Number{Value: n, Present: true} }

var unreadable = events.Number{Present: true, Bad: true}
