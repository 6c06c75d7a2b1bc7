package explain

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv/fixture"
)

// Tables that were just filled have no statistics, and Postgres then expects a grant to have many corrections.
func TestTheSumsOfAFewEventsDoNotReadTheWholeLedger(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	_, err := s.Pool().Exec(ctx, "alter table credit_ledger set (autovacuum_enabled = off)")
	require.NoError(t, err)
	_, err = s.Pool().Exec(ctx, `insert into credit_ledger (user_id, delta, entry, kind, event_id, provider_payment_id, line, available_at, occurred_at, stream_seq)
		select 'u' || i, 10, 'grant', 'one_time', 'e' || i, 'p' || i, 1, now(), now(), i from generate_series(1, 50000) as i`)
	require.NoError(t, err)
	tx, err := s.Pool().Begin(ctx)
	require.NoError(t, err)
	defer tx.Rollback(ctx) //nolint:errcheck // it only read
	_, err = tx.Exec(ctx, inOrderOfIndexes)
	require.NoError(t, err)
	var plan []struct {
		Plan struct {
			Pages int `json:"Shared Hit Blocks"`
		}
	}
	err = tx.QueryRow(ctx, "explain (analyze, buffers, timing off, format json) "+ledgerSums, []string{"e1", "e20000", "e40000", "e50000"}).Scan(&plan)
	require.NoError(t, err)
	require.Less(t, plan[0].Plan.Pages, 500)
}
