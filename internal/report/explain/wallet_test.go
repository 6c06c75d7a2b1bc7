package explain

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

func execute(ctx context.Context, t *testing.T, s *store.Store, sql string) {
	t.Helper()
	_, err := s.Pool().Exec(ctx, sql)
	require.NoError(t, err, sql)
}

// A user with two packs has spent, holds, has got something back, and owes what a refund took of spent credits.
func TestAUserShowsWhatIsLeftAndWhatWasSpent(t *testing.T) {
	t.Parallel()
	ctx, shop := fixture.NewFolded(t, 4,
		fixture.Pack("e1", "pay_1", "u1", 100), fixture.Pack("e2", "pay_2", "u1", 100), fixture.Pack("e3", "pay_3", "u2", 5),
		`{"id":"e4","eventType":"refund.created","object":{"refund_amount":1,"transaction":{"id":"none"}}}`)
	execute(ctx, t, shop.Tables, `select wallet.spend('u1', 70, 'k1', 'a "large" picture'), wallet.hold('u1', 50, 'h1', '1 hour'),
		wallet.hold('u1', 20, 'h2', '1 hour'), wallet.hold('u1', 10, 'h3', '1 hour'), wallet.spend('u1', 1000, 'k2'),
		wallet.hold('u1', 1, 'h4', '1 hour')`)
	execute(ctx, t, shop.Tables, `select wallet.give_back('k1', 5), wallet.confirm('h1', 31), wallet.release('h2')`)
	execute(ctx, t, shop.Tables, `update wallet.spend set created_at = '2026-01-01', held_until = case
		when key = 'h4' then timestamptz '2026-01-02' when held_until is not null then timestamptz '2226-01-01' end`)
	text, object := userText(ctx, t, shop.Tables, "u1")
	require.Contains(t, text, "Can spend 94 credits now: 94 of packs, 0 of subscriptions.\n")
	_, text, _ = strings.Cut(text, "GRANTS, ")
	text, _, _ = strings.Cut(text, "\n\nPAYMENTS")
	requireGolden(t, "wallet.txt", []byte("GRANTS, "+text+"\n"))
	var parsed struct {
		Spendable int64
		Wallet    json.RawMessage
	}
	require.NoError(t, json.Unmarshal([]byte(object), &parsed))
	require.EqualValues(t, 94, parsed.Spendable)
	require.EqualValues(t, 94, fixture.Number(ctx, t, shop.Tables, "select wallet.balance('u1')"))
	requireGolden(t, "wallet.json", indented(t, parsed.Wallet))

	event, err := viewEvent(ctx, shop.Tables, withID, []string{"e2"}, 10)
	require.NoError(t, err)
	require.Len(t, event.Grants.Items, 1)
	require.Equal(t, "pay_2/1", event.Grants.Items[0].Name())
	text, _ = userText(ctx, t, shop.Tables, "u2")
	require.Contains(t, text, "Can spend 5 credits now")
	require.NotContains(t, text, "SPENDS")
}

func userText(ctx context.Context, t *testing.T, s *store.Store, user string) (text, object string) {
	t.Helper()
	rows, err := ReadUser(ctx, s, user, Place{}, unbounded)
	require.NoError(t, err)
	var plain, asJSON bytes.Buffer
	require.NoError(t, rows.Write(&plain, false))
	require.NoError(t, rows.Write(&asJSON, true))
	return plain.String(), asJSON.String()
}

// What was spent of credits that are gone is a debt, which names why they are gone.
func TestADebtNamesItsGrants(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Applied(t, fixture.Pack("e1", "pay_1", "u1", 100), fixture.Pack("e2", "pay_2", "u1", 40),
		`{"id":"e3","eventType":"refund.created","object":{"id":"r1","provider_payment_id":"pay_9","amount":1}}`)
	execute(ctx, t, s, "select wallet.spend('u1', 130, 'k1')")
	execute(ctx, t, s, `insert into portal.credit_ledger (provider_payment_id, line, user_id, kind, entry, delta, reverses_line,
		available_at, event_id, occurred_at, stream_seq)
		select provider_payment_id, 2, user_id, kind, 'refund', -delta, 1, available_at, 'e9', now(), 9
		from portal.credit_ledger where provider_payment_id = 'pay_1'`)
	text, _ := userText(ctx, t, s, "u1")
	require.Contains(t, text, "Can spend nothing, and owes 90 credits, which the next credits pay.\n")
	require.Contains(t, text, "DEBT\n  100 credits were spent of pay_1/1 and then taken back.\n"+
		"  Other credits have paid 10 of it. The user owes 90 credits. The next credits pay.\n")

	execute(ctx, t, s, "delete from portal.credit_ledger where provider_payment_id = 'pay_2'")
	text, object := userText(ctx, t, s, "u1")
	require.Contains(t, text, "  30 credits were spent of pay_2/1, which the tables do not grant: "+
		"they were made with other rules or another catalogue.\n  The user owes 130 credits. The next credits pay.\n")
	require.Contains(t, object, `{"provider_payment_id":"pay_2","part":1,"kind":null,"event_id":null,"available_at":null,`+
		`"expires_at":null,"granted":null,"reversed":null,"spent":30,"held":0,"owes":30,"pays":0,"usable":0}`)

	execute(ctx, t, s, "delete from portal.credit_ledger; delete from portal.credits; delete from portal.payment_facts")
	text, _ = userText(ctx, t, s, "u1")
	require.Contains(t, text, "owes 130 credits")
	require.Contains(t, text, "spent of pay_1/1, which the tables do not grant")
}

// A list has the newest spends, says how many more there are, and adds up all of them.
func TestAUserWithManySpendsShowsTheNewest(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Applied(t, fixture.Pack("e1", "pay_1", "u1", 1_000_000))
	const spends = 20_000
	execute(ctx, t, s, `insert into wallet.account values ('u1', 1);
		insert into wallet.spend (key, user_id, amount, state, created_at)
		select 'k' || i, 'u1', 2, 'spent', timestamptz '2026-01-01' + interval '1 minute' * i
		from generate_series(1, 20000) i;
		insert into wallet.spend_part (key, number, entry, user_id, provider_payment_id, part, amount)
		select key, 1, 'spend', user_id, 'pay_1', 1, amount from wallet.spend; analyze wallet.spend, wallet.spend_part`)
	rows, err := ReadUser(ctx, s, "u1", Place{}, 3)
	require.NoError(t, err)
	require.EqualValues(t, 1_000_000-2*spends, *rows.Spendable)
	require.EqualValues(t, spends-3, rows.Wallet.Spends.Earlier)
	var keys []string
	for _, one := range rows.Wallet.Spends.Items {
		keys = append(keys, one.Key)
	}
	require.Equal(t, []string{"k19998", "k19999", "k20000"}, keys)
	var text bytes.Buffer
	require.NoError(t, rows.Write(&text, false))
	require.Contains(t, text.String(), "(19997 earlier spends not shown; --limit shows more)")
}

func TestAListOfGrantsHasTheNewest(t *testing.T) {
	t.Parallel()
	day := func(n int) *time.Time { return new(time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC)) }
	all := []Grant{
		{PaymentID: "a", AvailableAt: day(3)},
		{PaymentID: "b", AvailableAt: day(1)},
		{PaymentID: "gone"},
		{PaymentID: "c", AvailableAt: day(2)},
	}
	var names []string
	for _, g := range newestGrants(all, 3).Items {
		names = append(names, g.PaymentID)
	}
	require.Equal(t, []string{"a", "gone", "c"}, names)
}

// Tables that are not live say so. Spends are of the live tables only.
func TestTablesThatAreNotLiveHaveNoWallet(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	fixture.Apply(ctx, t, s, 3)
	execute(ctx, t, s, "select wallet.spend('u1', 1, 'k1')")
	next := fixture.Candidate(ctx, t, s, 3)
	rows, err := ReadUser(ctx, next, "u1", Place{}, 10)
	require.NoError(t, err)
	require.Nil(t, rows.Wallet)
	require.EqualValues(t, 3, *rows.Spendable)
	text, object := userText(ctx, t, next, "u1")
	require.Contains(t, text, "These tables grant 3 credits now: 3 of packs, 0 of subscriptions. "+
		"Spends are known for the live tables only.\n")
	require.Contains(t, object, `"wallet":null`)
}
