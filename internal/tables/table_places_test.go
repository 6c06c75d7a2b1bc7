package tables

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// EachPlace reads no other columns.
func TestNamesAreMadeOfTheirColumns(t *testing.T) {
	t.Parallel()
	requireNamesOfColumns(t, Payments)
	requireNamesOfColumns(t, SubscriptionStates)
	requireNamesOfColumns(t, CurrentSubscriptions)
	requireNamesOfColumns(t, Credits)
	requireNamesOfColumns(t, Licenses)
	requireNamesOfColumns(t, Reversals)
	requireNamesOfColumns(t, LedgerLines)
	for _, table := range All {
		require.Equal(t, table.FoundByName(), len(table.About().NameColumns) > 0, table.About().Name)
	}
}

func requireNamesOfColumns[R any](t *testing.T, table *Table[R]) {
	t.Helper()
	rapid.Check(t, func(r *rapid.T) {
		var whole, named R
		from, to := reflect.ValueOf(&whole).Elem(), reflect.ValueOf(&named).Elem()
		for i := range from.NumField() {
			column, _, _ := strings.Cut(from.Type().Field(i).Tag.Get("db"), ",")
			switch field := from.Field(i).Addr().Interface().(type) {
			case *string:
				*field = rapid.SampledFrom([]string{"", "a", "b", "pro"}).Draw(r, column)
			case *bool:
				*field = rapid.Bool().Draw(r, column)
			case *int64:
				*field = rapid.Int64Range(0, 2).Draw(r, column)
			}
			if slices.Contains(table.NameColumns, column) {
				to.Field(i).Set(from.Field(i))
			}
		}
		require.Equal(r, table.names(&whole), table.names(&named))
	})
}
