package projections_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/payfold/payfold/internal/projections"
)

// Every field comes back, also one that facts get later.
func TestFactsAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		var facts projections.Facts
		for range rapid.IntRange(0, 3).Draw(r, "facts") {
			one := &projections.Fact{}
			fill(r, reflect.ValueOf(one).Elem())
			facts = append(facts, one)
		}
		written := facts.Append(nil)
		read, err := projections.ReadFacts(string(written))
		require.NoError(r, err)
		require.Equal(r, facts, read)
	})
}

func fill(r *rapid.T, fact reflect.Value) {
	for i := range fact.NumField() {
		switch into := fact.Field(i).Addr().Interface().(type) {
		case *time.Time:
			if rapid.Bool().Draw(r, "known") {
				*into = time.Unix(rapid.Int64Range(-1<<40, 1<<40).Draw(r, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(r, "nanoseconds")).UTC()
			}
		case *int64:
			*into = rapid.Int64().Draw(r, "number")
		case **int64:
			if rapid.Bool().Draw(r, "known") {
				*into = rapid.Ptr(rapid.Int64(), false).Draw(r, "number")
			}
		case *bool:
			*into = rapid.Bool().Draw(r, "flag")
		default:
			fact.Field(i).SetString(rapid.StringN(0, 5, -1).Draw(r, "text"))
		}
	}
}

// FuzzReadFacts reads bytes that were damaged: an error, or facts that are written as the same bytes.
func FuzzReadFacts(f *testing.F) {
	amount := int64(1000)
	whole := projections.Facts{{EventID: "e1", Seq: 7, At: time.Unix(1_700_000_000, 5).UTC(), Says: projections.Paid, Amount: &amount}}.Append(nil)
	f.Add(whole)
	f.Add(whole[:len(whole)-1])
	f.Add(append(whole, 0xff))
	f.Fuzz(func(t *testing.T, written []byte) {
		if facts, err := projections.ReadFacts(string(written)); err == nil {
			again, err := projections.ReadFacts(string(facts.Append(nil)))
			require.NoError(t, err)
			require.Equal(t, facts, again)
		}
	})
}
