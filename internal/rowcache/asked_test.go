package rowcache

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/tables"
)

func TestANameIsAskedForOnceForEachKind(t *testing.T) {
	t.Parallel()
	var a asked
	require.Equal(t, []string{"b", "a"}, a.fresh(tables.OfUser, []string{"b", "a", "b"}, nil))
	require.Equal(t, []string{"c"}, a.fresh(tables.OfUser, []string{"a", "c"}, nil))
	require.Equal(t, []string{"a"}, a.fresh(tables.OfSubscription, []string{"a"}, nil))

	// What nobody has is not remembered. It is known by the name of its rows.
	has := map[string]bool{tables.ProPaymentsOf("d"): true}
	wanted := func(name string) bool { return has[name] }
	require.Equal(t, []string{"d"}, a.fresh(tables.OfLicensed, []string{"e", "d"}, wanted))
	has[tables.ProPaymentsOf("e")] = true
	require.Equal(t, []string{"e"}, a.fresh(tables.OfLicensed, []string{"e", "d"}, wanted))
}
