package page

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMoneyHasTheDigitsOfItsCurrency(t *testing.T) {
	t.Parallel()
	for want, of := range map[string]struct {
		amount   int64
		currency string
	}{
		"EUR 5,738.20":                         {573820, "EUR"},
		"EUR 0.05":                             {5, "EUR"},
		"EUR 0.00":                             {0, "EUR"},
		"EUR -0.05":                            {-5, "EUR"},
		"EUR -1,234.56":                        {-123456, "EUR"},
		"USD 100.00":                           {10000, "usd"},
		"JPY 2,500":                            {2500, "JPY"},
		"JPY 0":                                {0, "JPY"},
		"KWD 1,234.567":                        {1234567, "KWD"},
		"CLF 0.0001":                           {1, "CLF"},
		"HUF 990.00":                           {99000, "HUF"},
		"EUR -92,233,720,368,547,758.08":       {math.MinInt64, "EUR"},
		"JPY 9,223,372,036,854,775,807":        {math.MaxInt64, "JPY"},
		"1,234 minor units (unknown currency)": {1234, ""},
		"1 minor units (unknown currency)":     {1, "unknown"},
		"-1,234 minor units (unknown currency XYZ)":    {-1234, "XYZ"},
		`5 minor units (unknown currency "D EN")`:      {5, "D EN"},
		`5 minor units (unknown currency "E\x1b[0m")`:  {5, "E\x1b[0m"},
		"ISK 500,000 (at some providers ISK 5,000.00)": {500000, "ISK"},
		"UGX 500,000 (at some providers UGX 5,000.00)": {500000, "UGX"},
		"MGA 50.00 (at some providers MGA 5,000)":      {5000, "MGA"},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, want, Money(of.amount, of.currency))
		})
	}
}

func TestMoneyOfASumBeyond64BitsHasAllDigits(t *testing.T) {
	t.Parallel()
	require.Equal(t, "EUR 184,467,440,737,095,516.16", MoneyOf("18446744073709551616", "EUR"))
}

func TestTheTableOfCurrenciesHasEachOnce(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, code := range strings.Fields(twoDigits) {
		_, other := minorDigitsOf[code]
		require.Regexp(t, `^[A-Z]{3}$`, code)
		require.False(t, seen[code] || other, code)
		seen[code] = true
	}
}
