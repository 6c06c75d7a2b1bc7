package invitations

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// A retry takes the purchase's present name. The answer to an attempt under way is about the name before.
func TestARetryWaitsForAnAttemptThatIsBeingReserved(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.buy(t, "u1", "pay1", "octo")
	w.github.Script("octo", testenv.Reply{Drops: true})
	r := w.inviter(t)
	reconcile(t, r)
	w.requireStatus(t, "u1", "pay1", Pending)
	type retried struct {
		repositories []string
		err          error
	}
	ended := make(chan retried, 1)
	require.NoError(t, w.records(t).serialized(t.Context(), func(_ context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), `insert into payfold.invitation_attempt (user_id, repository, provider_payment_id, github_username, purpose, reserved_at, unasked)
			values ('u1', $1, 'pay1', 'octo', 'invite', now(), true)`, r.Repository)
		require.NoError(t, err)
		go func() {
			repositories, err := Retry(t.Context(), w.tables, "u1", w.clock.Now())
			ended <- retried{repositories, err}
		}()
		wait.Until(t, func() bool {
			var waits bool
			require.NoError(t, w.db.QueryRow(t.Context(), `select exists (select from pg_locks where locktype = 'advisory' and not granted
				and database = (select oid from pg_database where datname = current_database()))`).Scan(&waits))
			return waits || len(ended) > 0
		})
		return nil
	}))
	result := <-ended
	require.NoError(t, result.err)
	require.Empty(t, result.repositories, "an attempt is under way")
}

func TestAnInvitationOfARefundedPurchaseWaitsToBeWithdrawn(t *testing.T) {
	t.Parallel()
	w, r := invited(t, "octo")
	w.refund(t, "pay1")
	require.NoError(t, r.records.scan(t.Context(), nil))
	listed, err := List(t.Context(), w.tables, w.clock.Now())
	require.NoError(t, err)
	require.Equal(t, "waits to be withdrawn", listed.Invitations[0].Why())
	reconcile(t, r)
	listed, err = List(t.Context(), w.tables, w.clock.Now())
	require.NoError(t, err)
	require.Equal(t, "the invitation was withdrawn", listed.Invitations[0].Why())
}
