package endtoend

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv/fixture"
	"github.com/payfold/payfold/internal/testenv/history"
)

// Each change breaks what readers rely on, in a moment of its own or against what was read before.
func TestAReaderNoticesEachContradiction(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change string
		found  []string
	}{
		"nothing":                  {"select 1", nil},
		"a balance without a line": {"update credits set balance = 11, granted = 11 where user_id = 'u1'", []string{"credits of u1: 11, in the ledger: 10"}},
		"a line that disappears": {
			"delete from credit_ledger; delete from credits; delete from wallet.spend_part; delete from wallet.spend",
			[]string{"ledger line p1 1 has disappeared", "part k1 1 has disappeared"},
		},
		"a line that changes": {
			"update credit_ledger set occurred_at = '2026-01-01 00:00:00Z'",
			[]string{"ledger line p1 1 was (p1,1,u1,one_time,grant,10,,\"2026-01-02 10:00:00+00\",,e1,\"2026-01-02 10:00:00+00\",1), is (p1,1,u1,one_time,grant,10,,\"2026-01-02 10:00:00+00\",,e1,\"2026-01-01 00:00:00+00\",1)"},
		},
		"a record that disappears": {
			"delete from processed_event where event_id = 'e1'",
			[]string{"line 1 of p1 comes from event e1, which has no record", "event e1 has disappeared"},
		},
		"a record at another place": {
			"update processed_event set stream_seq = 0 where event_id = 'e2'",
			[]string{"event e2 was 2, is 0"},
		},
		"a position that goes back": {
			"update checkpoint set position = 2",
			[]string{"event e3 at 3 is later than every position", "partition log-1 0 went from 3 back to 2"},
		},
		"a licence without its entitlement": {
			"update pro_license set status = 'revoked', revoked_at = now()",
			[]string{"the licence of u2 is revoked, entitlement says otherwise"},
		},
		"a subscription that its state contradicts": {
			"update subscription set status = 'canceled'",
			[]string{"subscription s1 of u3 is canceled, its state active"},
		},
		"a grant of another user": {
			"update payment_facts set user_id = 'u2' where provider_payment_id = 'p1'",
			[]string{"grant 1 of p1 is of u1, its payment of u2"},
		},
		"a part of a spend that disappears": {
			"delete from wallet.spend_part",
			[]string{"spend k1 is spent, its parts have 0", "part k1 1 has disappeared"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, s := fixture.Applied(t, fixture.Pack("e1", "p1", "u1", 10), fixture.Pro("e2", "p2", "u2", "octocat"),
				`{"id":"e3","eventType":"subscription.active","object":{"id":"s1","metadata":{"user_id":"u3","kind":"subscription"}}}`)
			require.Equal(t, int64(1), fixture.Number(ctx, t, s, "select wallet.spend('u1', 3, 'k1')::int::bigint"))
			app := fixture.Connect(ctx, t, s)
			reader := history.NewReader()
			found, err := reader.Read(ctx, app)
			require.NoError(t, err)
			require.Empty(t, found)
			_, err = s.Pool().Exec(ctx, c.change)
			require.NoError(t, err)
			found, err = reader.Read(ctx, app)
			require.NoError(t, err)
			require.ElementsMatch(t, c.found, found)
		})
	}
}
