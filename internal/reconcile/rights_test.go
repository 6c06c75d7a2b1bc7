package reconcile_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/reconcile"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/fixture"
	"github.com/payfold/payfold/internal/testenv/wait"
)

func TestARoleThatOnlyReadsIsEnough(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), wait.Timeout)
	defer cancel()
	owner, portal := fixture.AsProjector(ctx, t)
	s := &shop{
		server: newServer(t, "stripe"), ctx: ctx, now: time.Now().UTC().Truncate(time.Second),
		log: testenv.NewLog(t, fixture.Partitions), rules: fixture.AnyMode, tables: owner,
	}
	s.takeLog(t)
	s.sells(t, s.Payment(1, 1200, s.now.Add(-5*aDay)))
	s.Has(s.Payment(2, 700, s.now.Add(-5*aDay)))

	readOnly, err := store.Open(ctx, store.Config{DSN: strings.Replace(portal, "payfold_portal", "payfold_console", 1), Owner: "test"})
	require.NoError(t, err)
	t.Cleanup(readOnly.Close)
	require.NoError(t, readOnly.CheckReadOnly(ctx))
	s.tables = readOnly
	requireOne(t, s.compare(t), reconcile.MissingPayment)
}
