package browse

import (
	"fmt"
	"math/big"
)

// Sum is an exact sum of amounts, which may be beyond 64 bits. A Sum is immutable. The zero value is 0,
// and every sum of 0 is the zero value.
type Sum struct{ n *big.Int } // nil: 0

func sum(n *big.Int) Sum {
	if n.Sign() == 0 {
		return Sum{}
	}
	return Sum{n}
}

func (s Sum) number() *big.Int {
	if s.n == nil {
		return new(big.Int)
	}
	return s.n
}

// SumOf is the sum of one amount.
func SumOf(n int64) Sum { return sum(big.NewInt(n)) }

// Scan implements sql.Scanner: it reads the digits of a number, which may begin with a minus.
func (s *Sum) Scan(from any) error {
	text, _ := from.(string)
	n, whole := new(big.Int).SetString(text, 10)
	if !whole {
		return fmt.Errorf("read a sum: %v is not a whole number", from)
	}
	*s = sum(n)
	return nil
}

// Add returns s + other.
func (s Sum) Add(other Sum) Sum { return sum(new(big.Int).Add(s.number(), other.number())) }

// Sub returns s - other.
func (s Sum) Sub(other Sum) Sum { return sum(new(big.Int).Sub(s.number(), other.number())) }

// Float is roughly the sum.
func (s Sum) Float() float64 {
	roughly, _ := s.number().Float64()
	return roughly
}

// Int64 returns the sum, if 64 bits can hold it.
func (s Sum) Int64() (n int64, fits bool) { return s.number().Int64(), s.number().IsInt64() }

// String has all digits.
func (s Sum) String() string { return s.number().String() }

// MarshalJSON implements json.Marshaler: a number with all digits.
func (s Sum) MarshalJSON() ([]byte, error) { return []byte(s.String()), nil }
