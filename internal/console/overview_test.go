package console

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/providers"
	"github.com/payfold/payfold/internal/report/browse"
	"github.com/payfold/payfold/internal/report/status"
)

func TestTheFirstStepsNameTheVariableOfEachSecret(t *testing.T) {
	t.Parallel()
	for secret, variable := range map[string]string{
		"": "PROVIDER_WEBHOOK_SECRET", "stripe": "STRIPE_WEBHOOK_SECRET", "payfold": "PAYFOLD_EVENT_SECRET",
	} {
		c := &Console{Config: Config{Secrets: providers.Secrets{}}}
		if secret != "" {
			c.Secrets[secret] = nil
		}
		steps := c.firstSteps()
		require.Len(t, steps, 1)
		require.Equal(t, variable, steps[0].Variable)
	}
}

func TestTheMonthsLeaveOutCurrenciesWithoutMoney(t *testing.T) {
	t.Parallel()
	of := func(currency string, last, present int64) browse.CurrencyRevenue {
		return browse.CurrencyRevenue{Currency: currency, Periods: []browse.RevenuePeriod{{Net: browse.SumOf(last)}, {Net: browse.SumOf(present)}}}
	}
	got := monthsOf([]browse.CurrencyRevenue{of("EUR", 100, -50), of("USD", 7, 0), of("unknown", 0, 0)})
	require.Equal(t, []string{"This month so far", "Last month"}, []string{got[0].Name, got[1].Name})
	require.Equal(t, []browse.MoneySum{{Currency: "EUR", Sum: "-50"}}, got[0].Net)
	require.Equal(t, []browse.MoneySum{{Currency: "EUR", Sum: "100"}, {Currency: "USD", Sum: "7"}}, got[1].Net)
	require.Empty(t, monthsOf(nil))
}

func TestPaymentsWithoutAnAmountComeAfterTheDrawings(t *testing.T) {
	t.Parallel()
	var all []browse.CurrencyRevenue
	for _, currency := range []string{"EUR", "unknown", "JPY"} {
		c := browse.CurrencyRevenue{Currency: currency, Periods: make([]browse.RevenuePeriod, 1)}
		if currency != "unknown" {
			c.Total.Gross = browse.SumOf(5)
		}
		all = append(all, c)
	}
	var names []string
	for _, drawn := range moneyCharts(all, browse.Day) {
		names = append(names, drawn.Currency)
	}
	require.Equal(t, []string{"EUR", "JPY", "unknown"}, names)
}

func TestTheEventsOfAnOutcomeAreCountedWhateverTheirReason(t *testing.T) {
	t.Parallel()
	var o overviewPage
	o.Figures.Counts.Outcomes = []status.OutcomeCount{
		{Outcome: "applied", Events: 5},
		{Outcome: "ignored", Events: 2},
		{Outcome: "ignored", Reason: "unpaid", Events: 4},
		{Outcome: "rejected", Reason: "missing_user", Events: 1},
		{Outcome: "rejected", Reason: "unknown_product", Events: 2},
	}
	require.Equal(t, []outcomeSum{{"applied", 5}, {"ignored", 6}, {"rejected", 3}}, o.Outcomes())
	require.EqualValues(t, 3, o.Rejected(), "a payment whose money has not arrived is not rejected")
}
