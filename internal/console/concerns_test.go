package console

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/report/browse"
	"github.com/payfold/payfold/internal/report/explain"
	"github.com/payfold/payfold/internal/report/status"
	"github.com/payfold/payfold/internal/store"
)

var noon = time.Date(2021, 3, 1, 12, 0, 0, 0, time.UTC)

func TestWhatNeedsAttentionIsSaid(t *testing.T) {
	t.Parallel()
	for said, change := range map[string]func(*status.Status){
		"": func(s *status.Status) {
			s.Lag.Events, s.Lag.Seconds = 5, 60
			s.Database.Waiting.Payments, s.Database.Waiting.Oldest = 1, []store.WaitingPayment{{OccurredAt: noon.Add(-time.Hour)}}
		},
		"The log: it does not answer.": func(s *status.Status) { s.LogFault = "it does not answer" },
		"Only 2 of 3 NATS servers have the whole log. The others are behind or away.": func(s *status.Status) { s.Log = &status.Log{Replicas: 3, Current: 2} },
		noProjector: func(s *status.Status) { s.Database.Partitions[0].Owner = "" },
		"The tables are behind: 5 events are not applied yet, the oldest arrived 2 min ago.": func(s *status.Status) {
			s.Lag.Events, s.Lag.Seconds = 5, 120
		},
		"The database refused the rows of 1 event. Their customers got nothing.":            func(s *status.Status) { s.Database.Quarantined.Count = 1 },
		"1 event was applied out of the log's order. To repair this, run projector settle.": func(s *status.Status) { s.Database.OutOfOrder.Count = 1 },
		"1 payment has no known customer; the oldest is 2 h old.": func(s *status.Status) {
			s.Database.Waiting.Payments, s.Database.Waiting.Oldest = 1, []store.WaitingPayment{{OccurredAt: noon.Add(-2 * time.Hour)}}
		},
	} {
		s := status.Status{Lag: &status.Lag{}, Database: &status.Database{At: noon, Partitions: []status.Partition{{Owner: "one"}}}}
		change(&s)
		var all []string
		for _, one := range concerns(s, nil) {
			all = append(all, one.What)
		}
		if said == "" {
			require.Empty(t, all)
			continue
		}
		require.Equal(t, []string{said}, all)
	}
}

// A clock of the provider is ahead.
func TestAPaymentOfTomorrowIsNotDrawn(t *testing.T) {
	t.Parallel()
	day := func(ago int) browse.RevenueDay {
		return browse.RevenueDay{Day: noon.Truncate(24*time.Hour).AddDate(0, 0, -ago), Currency: "EUR", Payments: 1, Gross: browse.SumOf(100)}
	}
	drawn := charts(browse.RevenueAnswer{Moment: browse.Moment{At: noon}, Days: []browse.RevenueDay{day(-1), day(0), day(1)}}, 2)
	require.Len(t, drawn, 1)
	require.EqualValues(t, 2, drawn[0].Payments)
	require.Len(t, drawn[0].Bars, 2)
}

func TestABalanceIsTheSumOfAllLinesBeforeIt(t *testing.T) {
	t.Parallel()
	lines := explain.Lines{EarlierSum: 7}
	for _, delta := range []int64{10, -4} {
		lines.Items = append(lines.Items, projections.LedgerLine{Delta: delta})
	}
	var sums []int64
	for _, line := range balances(lines) {
		sums = append(sums, *line.Sum)
	}
	require.Equal(t, []int64{17, 13}, sums)
	lines.NotSummed = true
	require.Nil(t, balances(lines)[0].Sum)
}
