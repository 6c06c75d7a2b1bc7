package browse

import (
	"encoding/json"
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestSumsAreExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		numbers := rapid.SliceOf(rapid.Int64()).Draw(t, "numbers")
		var sum Sum
		want := new(big.Int)
		for i, n := range numbers {
			if i%2 == 0 {
				sum, want = sum.Add(SumOf(n)), want.Add(want, big.NewInt(n))
			} else {
				sum, want = sum.Sub(SumOf(n)), want.Sub(want, big.NewInt(n))
			}
		}
		require.Equal(t, want.String(), sum.String())
		var read Sum
		require.NoError(t, read.Scan(want.String()))
		require.Equal(t, sum, read)
		text, err := json.Marshal(sum)
		require.NoError(t, err)
		require.Equal(t, want.String(), string(text))
		roughly, _ := new(big.Float).SetInt(want).Float64()
		require.InDelta(t, roughly, sum.Float(), 1e-9*math.Abs(roughly))
	})
	for _, from := range []any{"", "-", "x", "1.5", "--1", nil, int64(1)} {
		require.Error(t, new(Sum).Scan(from), from)
	}
}
