package console

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/reconcile"
	"github.com/payfold/payfold/internal/report/attention"
	"github.com/payfold/payfold/internal/report/browse"
	"github.com/payfold/payfold/internal/report/explain"
	"github.com/payfold/payfold/internal/report/logreport"
	"github.com/payfold/payfold/internal/report/status"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/webhook"
)

var noon = time.Date(2021, 3, 1, 12, 0, 0, 0, time.UTC)

func euros(count, sum int64) browse.Amounts {
	return browse.Amounts{Currency: "EUR", Count: count, Sum: browse.SumOf(sum), Priced: count}
}

func TestWhatNeedsAttentionIsSaid(t *testing.T) {
	t.Parallel()
	for said, change := range map[string]func(*overviewPage){
		"": func(o *overviewPage) {
			o.Lag.Events, o.Lag.Seconds = 5, 60
			o.Figures.Unclaimed = []browse.Amounts{euros(1, 100)}
			o.Database.Waiting.Payments, o.Database.Waiting.Oldest = 1, []store.WaitingPayment{{OccurredAt: noon.Add(-time.Hour)}}
		},
		"The log: it does not answer.": func(o *overviewPage) { o.LogFault = "it does not answer" },
		"Only 2 of 3 NATS servers have the whole log. The others are behind or away.": func(o *overviewPage) { o.Log = &status.Log{Replicas: 3, Current: 2} },
		attention.NoProjector: func(o *overviewPage) { o.Database.Partitions[0].Owner = "" },
		"The tables are behind: 5 events are not applied yet, the oldest arrived 2 min ago.": func(o *overviewPage) {
			o.Lag.Events, o.Lag.Seconds = 5, 120
		},
		"The database refused the rows of 1 event. Their customers got nothing.": func(o *overviewPage) { o.Database.Quarantined.Count = 1 },
		"1 event was applied out of the log's order.":                            func(o *overviewPage) { o.Database.OutOfOrder.Count = 1 },
		"1 payment has no known customer, EUR 49.00; the oldest is 2 h old.": func(o *overviewPage) {
			o.Figures.Unclaimed = []browse.Amounts{euros(1, 4900)}
			o.Database.Waiting.Payments, o.Database.Waiting.Oldest = 1, []store.WaitingPayment{{OccurredAt: noon.Add(-2 * time.Hour)}}
		},
		"2 purchases of product prod_9 granted nothing: EUR 98.00.": func(o *overviewPage) {
			o.Figures.Ungranted = []browse.Ungranted{{Reason: "unknown_product", Product: "prod_9", Amounts: euros(2, 9800)}}
		},
		"1 dispute came this week: EUR 20.00.":                func(o *overviewPage) { o.Figures.Disputes = []browse.Disputes{{Amounts: euros(1, 2000)}} },
		"3 subscriptions are past due. Last paid: EUR 57.00.": func(o *overviewPage) { o.Standing.PastDue = []browse.Amounts{euros(3, 5700)} },
		"3 subscriptions are past due. Last paid: EUR 10.00, USD 20.00, and 1 of an unknown amount.": func(o *overviewPage) {
			o.Standing.PastDue = []browse.Amounts{euros(1, 1000), {Currency: "USD", Count: 2, Sum: browse.SumOf(2000), Priced: 1}}
		},
		"1 subscription is past due. Last paid: amount unknown.": func(o *overviewPage) { o.Standing.PastDue = []browse.Amounts{{Count: 1}} },
		"1 buyer owes 7 credits.":                                func(o *overviewPage) { o.Standing.Debtors, o.Standing.Owed, o.Standing.AllOwed = 1, 7, true },
		"At least 2 buyers owe 7 credits.":                       func(o *overviewPage) { o.Standing.Debtors, o.Standing.Owed = 2, 7 },
		"What customers owe cannot be added up: it takes long.":  func(o *overviewPage) { o.Standing.Fault = "it takes long" },
		"The archive lacks a part of the log: the store does not answer.": func(o *overviewPage) {
			o.Ingest.Archive = &archive.State{LastError: "the store does not answer"}
		},
		"Ingest stores nothing now: the disk is full.": func(o *overviewPage) { o.Ingest.NotReady = "the disk is full" },
		"Some deliveries were not stored. shop stops trying in 4 h.": func(o *overviewPage) {
			o.Ingest.GivesUp = map[string]float64{"shop": (4*time.Hour + 12*time.Minute).Seconds()}
		},
		"shop has stopped trying a delivery that was not stored.": func(o *overviewPage) { o.Ingest.GivesUp = map[string]float64{"shop": 0} },
		"In the last quarter of an hour 2 deliveries had no valid signature.": func(o *overviewPage) {
			o.Ingest.At = noon
			o.Ingest.Answers = []webhook.Minute{
				{Begin: noon.Add(-16 * time.Minute), Answers: map[string]uint64{"unauthorized": 40}},
				{Begin: noon.Add(-15 * time.Minute), Answers: map[string]uint64{"unauthorized": 2, "accepted": 9, "duplicate": 1}},
			}
		},
		"2 h ago the tables differed from what stripe lists: 2 payments that the tables lack (EUR 24.00), 1 subscription of another status.": func(o *overviewPage) {
			o.Compared = []reconcile.Kept{{Provider: "stripe", ComparedAt: new(noon.Add(-2 * time.Hour)), Found: []reconcile.Found{
				{What: reconcile.MissingPayment, Currency: "EUR", Count: 2, Amount: 2400}, {What: reconcile.OtherStatus, Count: 1},
			}}}
		},
		"3 days ago the tables differed from what stripe lists: 1 refund of another amount (EUR 1.00), and more that were not looked at.": func(o *overviewPage) {
			o.Compared = []reconcile.Kept{{Provider: "stripe", ComparedAt: new(noon.Add(-72 * time.Hour)), More: true, Found: []reconcile.Found{
				{What: reconcile.OtherRefund, Currency: "EUR", Count: 1, Amount: 100},
			}}}
		},
		"stripe knew none of the payments of the tables 2 h ago.": func(o *overviewPage) {
			o.Compared = []reconcile.Kept{{Provider: "stripe", ComparedAt: new(noon.Add(-2 * time.Hour)), Stranger: true}}
		},
		"The tables could not be compared with stripe 3 h ago, so it is not known whether something is missing: the key is wrong.": func(o *overviewPage) {
			o.Compared = []reconcile.Kept{{Provider: "stripe", FailedAt: new(noon.Add(-3 * time.Hour)), Error: "the key is wrong."}}
		},
		"No event has come for 5 h. The longest pause between the newest events was 2 h.": func(o *overviewPage) {
			o.Silence = browse.Silence{Events: 200, First: noon.Add(-50 * time.Hour), Since: noon.Add(-5 * time.Hour), Longest: 2 * time.Hour}
		},
		"Ingest does not answer, so whether deliveries are stored, and for how long the provider still repeats them, is not known: refused.": func(o *overviewPage) {
			o.Ingest, o.IngestFault = nil, "refused"
		},
	} {
		t.Run(said, func(t *testing.T) {
			t.Parallel()
			o := overviewPage{Ingest: &logreport.Ingest{}}
			o.Moment.At = noon
			o.Status = status.Status{Lag: &status.Lag{}, Database: &status.Database{At: noon, Partitions: []status.Partition{{Owner: "one"}}}}
			change(&o)
			var all []string
			for _, one := range concerns(&o) {
				all = append(all, one.What)
				require.NotContains(t, frame{Menu: menu}.Named(one.Path), "/", "the link has the name of a page")
			}
			if said == "" {
				require.Empty(t, all)
				return
			}
			require.Equal(t, []string{said}, all)
		})
	}
}

func TestWhatCostsMostMoneyIsSaidFirst(t *testing.T) {
	t.Parallel()
	o := overviewPage{Ingest: &logreport.Ingest{GivesUp: map[string]float64{"shop": 60}}}
	o.Moment.At = noon
	o.Status = status.Status{Database: &status.Database{At: noon, Partitions: []status.Partition{{Owner: "one"}}, Quarantined: status.Counted[status.Quarantined]{Count: 1}}}
	o.Figures.Ungranted = []browse.Ungranted{
		{Reason: "unknown_product", Product: "a", Amounts: euros(1, 500), Catalogue: "a: {kind: pro}"},
		{Reason: "missing_user", Product: "b", Amounts: euros(1, 90), Purchases: []browse.Purchase{{Repair: "ingest complete t1 --user USER"}}},
	}
	o.Figures.Disputes, o.Standing.PastDue = []browse.Disputes{{Amounts: euros(1, 100)}}, []browse.Amounts{euros(1, 1000)}
	var all, codes []string
	for _, one := range concerns(&o) {
		all, codes = append(all, strings.Fields(one.What)[0]+strings.Fields(one.What)[1]), append(codes, one.Code)
	}
	require.Equal(t, []string{"Somedeliveries", "1subscription", "1purchase", "1dispute", "1purchase", "Thedatabase"}, all)
	require.Equal(t, []string{"", "", "a: {kind: pro}", "", "ingest complete t1 --user USER", ""}, codes)
}

// Sums of several currencies are compared by what the shop's payments in them usually are.
func TestTheMoneyOfSeveralCurrenciesIsCompared(t *testing.T) {
	t.Parallel()
	in := func(currency string, count, sum int64) browse.Amounts {
		return browse.Amounts{Currency: currency, Count: count, Sum: browse.SumOf(sum), Priced: count}
	}
	revenue := func(currency string, payments, gross int64) browse.CurrencyRevenue {
		return browse.CurrencyRevenue{Currency: currency, Total: browse.RevenuePeriod{Payments: payments, Gross: browse.SumOf(gross)}}
	}
	o := overviewPage{}
	o.Figures.Ungranted = []browse.Ungranted{
		{Product: "rupiah", Amounts: in("IDR", 1, 31_000_000)}, // about as much as the next one
		{Product: "euros", Amounts: in("EUR", 2, 3_800)},
		{Product: "yen", Amounts: in("JPY", 1, 9_000)},
		{Product: "dollars", Amounts: in("USD", 1, 10_000)},
	}
	o.Revenue.Currencies = []browse.CurrencyRevenue{revenue("EUR", 10, 19_000), revenue("IDR", 2, 62_000_000), revenue("JPY", 1, 3_000), revenue("unknown", 3, 0)}
	var products []string
	for _, one := range concerns(&o) {
		products = append(products, strings.TrimSuffix(strings.Fields(one.What)[4], ","))
	}
	require.Equal(t, []string{"dollars", "yen", "euros", "rupiah"}, products, "nothing was paid in dollars, so they count as the main currency")
}

func TestTablesOfAnOlderMomentAreNotBehind(t *testing.T) {
	t.Parallel()
	o := overviewPage{Ingest: &logreport.Ingest{}}
	o.Moment.At = noon
	o.Status = status.Status{
		Lag: &status.Lag{Events: 5, Seconds: 600}, Database: &status.Database{Partitions: []status.Partition{{Owner: "one"}}},
	}
	o.Silence = browse.Silence{Events: 200, First: noon.Add(-50 * time.Hour), Since: noon.Add(-5 * time.Hour), Longest: time.Hour}
	require.Len(t, concerns(&o), 2)
	o.Moment.Schema = store.LiveSchema
	require.Len(t, concerns(&o), 2)
	o.Moment.Schema = "month_end"
	require.Empty(t, concerns(&o))
}

func TestABalanceIsTheSumOfAllLinesBeforeIt(t *testing.T) {
	t.Parallel()
	lines := explain.Lines{EarlierSum: 7}
	for _, delta := range []int64{10, -4} {
		lines.Items = append(lines.Items, projections.LedgerLine{Delta: delta})
	}
	var sums []int64
	for _, line := range lines.WithSums() {
		sums = append(sums, *line.Sum)
	}
	require.Equal(t, []int64{17, 13}, sums)
	lines.NotSummed = true
	require.Nil(t, lines.WithSums()[0].Sum)
}

func TestALinkToAPlaceInAPageKeepsTheSchema(t *testing.T) {
	t.Parallel()
	require.Equal(t, "/?schema=month_end#hour", frame{Schema: "month_end"}.In(attention.LastHour))
	require.Equal(t, "/#hour", frame{}.In(attention.LastHour))
	require.Equal(t, "/subscriptions?status=past_due&schema=month_end", frame{Schema: "month_end"}.In("/subscriptions?status=past_due"))
}
