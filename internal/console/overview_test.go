package console

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/providers"
	"github.com/payfold/payfold/internal/report/browse"
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
