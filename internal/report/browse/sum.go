package browse

import (
	"fmt"
	"strconv"
	"strings"
)

// Sum is an exact sum of amounts, which may be beyond 64 bits. Equal sums are ==. The zero value is 0.
type Sum struct {
	high, low int64 // high * sumBase + low; low is never negative
}

const (
	sumDigits = 18
	sumBase   = 1_000_000_000_000_000_000
)

// SumOf is the sum of one amount.
func SumOf(n int64) Sum { return normal(n/sumBase, n%sumBase) }

func normal(high, low int64) Sum {
	if low < 0 {
		return Sum{high - 1, low + sumBase}
	}
	return Sum{high + low/sumBase, low % sumBase}
}

// parseSum reads the digits of a number, which may have a sign.
func parseSum(text string) (Sum, error) {
	digits, negative := strings.CutPrefix(text, "-")
	if strings.Trim(digits, "0123456789") != "" {
		return Sum{}, fmt.Errorf("read a sum: %q is no whole number", text)
	}
	cut := max(len(digits)-sumDigits, 0)
	high, err := strconv.ParseInt("0"+digits[:cut], 10, 64)
	if err != nil {
		return Sum{}, fmt.Errorf("read a sum: %w", err)
	}
	low, err := strconv.ParseInt(digits[cut:], 10, 64)
	if err != nil {
		return Sum{}, fmt.Errorf("read a sum: %w", err)
	}
	out := normal(high, low)
	if negative {
		out = Sum{}.Sub(out)
	}
	return out, nil
}

// Add returns s + other.
func (s Sum) Add(other Sum) Sum { return normal(s.high+other.high, s.low+other.low) }

// Sub returns s - other.
func (s Sum) Sub(other Sum) Sum { return normal(s.high-other.high, s.low-other.low) }

// Float is roughly the sum.
func (s Sum) Float() float64 {
	if s.high < 0 {
		return -Sum{}.Sub(s).Float()
	}
	return float64(s.high)*sumBase + float64(s.low)
}

// String has all digits.
func (s Sum) String() string {
	switch {
	case s.high < 0:
		return "-" + Sum{}.Sub(s).String()
	case s.high == 0:
		return strconv.FormatInt(s.low, 10)
	}
	return fmt.Sprintf("%d%0*d", s.high, sumDigits, s.low)
}

// MarshalJSON implements json.Marshaler: a number with all digits.
func (s Sum) MarshalJSON() ([]byte, error) { return []byte(s.String()), nil }
