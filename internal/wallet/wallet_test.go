package wallet_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

// wallet calls the functions of schema wallet, on grants that a test writes into the ledger.
type wallet struct {
	ctx context.Context
	q   store.Querier
}

// newWallet returns the wallets of empty tables.
func newWallet(t *testing.T) (wallet, *store.Store) {
	t.Helper()
	ctx, s := fixture.Tables(t)
	return wallet{ctx, s.Pool()}, s
}

func ask[T any](t require.TestingT, w wallet, sql string, arguments ...any) (answer T) {
	require.NoError(t, w.q.QueryRow(w.ctx, sql, arguments...).Scan(&answer), sql)
	return answer
}

// refused returns the error of a statement.
func (w wallet) refused(sql string, arguments ...any) error {
	var answer any
	return w.q.QueryRow(w.ctx, sql, arguments...).Scan(&answer)
}

func (w wallet) do(t require.TestingT, sql string, arguments ...any) {
	var done bool
	sql = "with done as (" + sql + " returning 1) select count(*) > 0 from done"
	require.NoError(t, w.q.QueryRow(w.ctx, sql, arguments...).Scan(&done))
	require.True(t, done, sql)
}

// grant writes a grant of credits into the ledger. expires is an SQL expression.
func (w wallet) grant(t require.TestingT, payment, user, kind string, credits int64, expires string) {
	w.do(t, `insert into portal.credit_ledger (provider_payment_id, line, user_id, kind, entry, delta, available_at,
		expires_at, event_id, occurred_at, stream_seq)
		select $1, 1, $2, $3, 'grant', $4, now(), `+expires+`, 'paid_' || $1, now(), 1`,
		payment, user, kind, credits)
}

// reverse takes back credits of a grant.
func (w wallet) reverse(t require.TestingT, payment string, credits int64) {
	w.do(t, `insert into portal.credit_ledger (provider_payment_id, line, user_id, kind, entry, delta, reverses_line,
		available_at, expires_at, event_id, occurred_at, stream_seq)
		select provider_payment_id, (select max(line) + 1 from portal.credit_ledger where provider_payment_id = $1),
			user_id, kind, 'refund', -$2::bigint, 1, available_at, expires_at, 'refund_' || $1, now(), 2
		from portal.credit_ledger where provider_payment_id = $1 and line = 1`, payment, credits)
}

func (w wallet) expire(t require.TestingT, payment string) {
	w.do(t, "update portal.credit_ledger set expires_at = now() where provider_payment_id = $1", payment)
}

func (w wallet) balance(t require.TestingT, user string) int64 {
	return ask[int64](t, w, "select wallet.balance($1)", user)
}

func (w wallet) spend(t require.TestingT, user string, amount int64, key string) bool {
	return ask[bool](t, w, "select wallet.spend($1, $2, $3, 'a picture')", user, amount, key)
}

func (w wallet) hold(t require.TestingT, user string, amount int64, key string) bool {
	return ask[bool](t, w, "select wallet.hold($1, $2, $3, '1 hour')", user, amount, key)
}

// runOut makes the time of a hold be over.
func (w wallet) runOut(t require.TestingT, key string) {
	w.do(t, "update wallet.spend set held_until = now() where key = $1", key)
}

// usable returns what is left of each grant of the user, in the order in which it is spent.
func (w wallet) usable(t require.TestingT, user string) (all []string) {
	return ask[[]string](t, w, `select coalesce(array_agg(provider_payment_id || ' ' || usable order by place), '{}')
		from wallet.grants($1) with ordinality as g (provider_payment_id, part, kind, event_id, available_at, expires_at,
			granted, reversed, used, owes, pays, usable, place)`, user)
}

// requireSums requires that every spend has the parts that it must have, and that a statement ends with the balance.
func (w wallet) requireSums(t require.TestingT, users ...string) {
	require.Empty(t, ask[[]string](t, w, `
		select coalesce(array_agg(key), '{}') from (
			select s.key, s.state, s.amount, s.confirmed, coalesce(sum(p.amount), 0) as taken,
				coalesce(-sum(p.amount) filter (where p.entry = 'give_back'), 0) as given_back,
				count(*) filter (where p.user_id <> s.user_id) as of_others
			from wallet.spend s left join wallet.spend_part p using (key) group by s.key) one
		where of_others > 0 or taken < 0 or taken + given_back <> case state
			when 'spent' then coalesce(confirmed, amount) when 'held' then amount else 0 end`))
	for _, user := range users {
		require.Equal(t, w.balance(t, user), ask[int64](t, w, `select coalesce((array_agg(balance))[count(*)], 0)
			from wallet.statement($1)`, user), "the last line of the statement has the balance")
	}
}

func TestExpiredCreditsDoNotEatPaidOnes(t *testing.T) {
	t.Parallel()
	w, _ := newWallet(t)
	w.grant(t, "p1", "u1", "subscription", 100, "now() + interval '1 day'")
	w.grant(t, "p2", "u1", "subscription", 100, "now() + interval '2 days'")
	w.grant(t, "p3", "u1", "one_time", 100, "null")
	require.True(t, w.spend(t, "u1", 150, "k1"))
	w.expire(t, "p1")
	require.EqualValues(t, 150, w.balance(t, "u1"))
	require.Equal(t, []string{"p1 0", "p2 50", "p3 100"}, w.usable(t, "u1"))
	w.expire(t, "p2")
	require.EqualValues(t, 100, w.balance(t, "u1"))
	require.False(t, w.spend(t, "u1", 101, "k2"))
	require.True(t, w.spend(t, "u1", 100, "k3"))
	require.Zero(t, w.balance(t, "u1"))
	w.requireSums(t, "u1")
}

func TestCreditsThatExpireFirstAreSpentFirst(t *testing.T) {
	t.Parallel()
	w, _ := newWallet(t)
	w.grant(t, "never_pack", "u1", "one_time", 10, "null")
	w.grant(t, "never_newer", "u1", "one_time", 10, "null")
	w.grant(t, "never_plan", "u1", "subscription", 10, "null")
	w.grant(t, "late", "u1", "one_time", 10, "now() + interval '9 days'")
	w.grant(t, "soon", "u1", "one_time", 10, "now() + interval '2 days'")
	w.grant(t, "of_another", "u2", "one_time", 10, "null")
	var order []string
	for _, spent := range []struct {
		key  string
		left []string
	}{
		{"k1", []string{"soon 5", "late 10", "never_plan 10", "never_pack 10", "never_newer 10"}},
		{"k2", []string{"soon 0", "late 0", "never_plan 10", "never_pack 10", "never_newer 10"}},
		{"k3", []string{"soon 0", "late 0", "never_plan 0", "never_pack 5", "never_newer 10"}},
	} {
		require.True(t, w.spend(t, "u1", map[string]int64{"k1": 5, "k2": 15, "k3": 15}[spent.key], spent.key))
		require.Equal(t, spent.left, w.usable(t, "u1"))
		order = append(order, spent.key)
	}
	require.Len(t, order, 3)
	require.EqualValues(t, 10, w.balance(t, "u2"))
}

func TestARefundOfSpentCreditsIsADebtThatTheNextGrantPays(t *testing.T) {
	t.Parallel()
	w, _ := newWallet(t)
	w.grant(t, "p1", "u1", "one_time", 100, "null")
	require.True(t, w.spend(t, "u1", 60, "k1"))
	w.reverse(t, "p1", 100)
	require.EqualValues(t, -60, w.balance(t, "u1"))
	require.False(t, w.spend(t, "u1", 1, "k2"))
	w.grant(t, "p2", "u1", "one_time", 100, "null")
	require.EqualValues(t, 40, w.balance(t, "u1"))
	w.grant(t, "p3", "u1", "subscription", 50, "now() + interval '1 day'")
	require.Equal(t, []string{"p3 50", "p1 0", "p2 40"}, w.usable(t, "u1"), "the grant that came next has paid")
	w.expire(t, "p3")
	require.EqualValues(t, 40, w.balance(t, "u1"))
	w.reverse(t, "p2", 50)
	require.EqualValues(t, -10, w.balance(t, "u1"))
	w.requireSums(t, "u1")
}

func TestADebtThatAnExpiringGrantPaidStaysPaid(t *testing.T) {
	t.Parallel()
	w, _ := newWallet(t)
	w.grant(t, "p1", "u1", "one_time", 100, "null")
	w.grant(t, "lapsed", "u1", "one_time", 30, "now()")
	require.True(t, w.spend(t, "u1", 60, "k1"))
	w.reverse(t, "p1", 100)
	require.EqualValues(t, -60, w.balance(t, "u1"), "what had lapsed before does not pay")
	w.grant(t, "p2", "u1", "subscription", 100, "now() + interval '1 day'")
	w.expire(t, "p2")
	require.Zero(t, w.balance(t, "u1"))
	w.grant(t, "p3", "u1", "one_time", 5, "null")
	require.EqualValues(t, 5, w.balance(t, "u1"))
	w.requireSums(t, "u1")
}

func TestEachKeyCountsOnce(t *testing.T) {
	t.Parallel()
	w, _ := newWallet(t)
	w.grant(t, "p1", "u1", "one_time", 100, "null")
	w.grant(t, "p2", "u2", "one_time", 100, "null")
	for range 3 {
		require.True(t, w.spend(t, "u1", 30, "k1"))
		require.False(t, w.spend(t, "u1", 71, "k2"), "the first answer")
		require.True(t, w.hold(t, "u1", 20, "h1"))
		require.EqualValues(t, 50, w.balance(t, "u1"))
	}
	for sql, says := range map[string]string{
		"select wallet.spend('u1', 31, 'k1')":          "used for a spend of 30 credits",
		"select wallet.spend('u2', 30, 'k1')":          "used for a spend of 30 credits",
		"select wallet.hold('u1', 30, 'k1', '1 hour')": "used for a spend of 30 credits",
		"select wallet.spend('u1', 20, 'h1')":          "used for a hold of 20 credits",
		"select wallet.hold('u1', 21, 'h1', '1 hour')": "used for a hold of 20 credits",
		"select wallet.hold('u2', 20, 'h1', '1 hour')": "used for a hold of 20 credits",
		"select wallet.confirm('k1', 30)":              "that of a spend, not of a hold",
		"select wallet.release('k1')":                  "that of a spend, not of a hold",
		"select wallet.confirm('h1', 21)":              "20 credits are held with the key 'h1', 21 cannot be confirmed",
		"select wallet.give_back('h1', 1)":             "confirm it or release it",
		"select wallet.confirm('nothing', 1)":          "nothing was spent or held with the key 'nothing'",
		"select wallet.release('nothing')":             "nothing was spent or held",
		"select wallet.give_back('nothing', 1)":        "nothing was spent or held",
	} {
		require.ErrorContains(t, w.refused(sql), says, sql)
	}
	w.grant(t, "p3", "u1", "one_time", 100, "null")
	require.False(t, w.spend(t, "u1", 71, "k2"), "the first answer")
	require.EqualValues(t, 150, w.balance(t, "u1"))
	w.requireSums(t, "u1", "u2")
}

func TestUnusableInputChangesNothing(t *testing.T) {
	t.Parallel()
	w, s := newWallet(t)
	w.grant(t, "p1", "u1", "one_time", 100, "null")
	for sql, says := range map[string]string{
		"select wallet.spend('u1', 0, 'k')":                             "the amount is 0, must be a whole number from 1",
		"select wallet.spend('u1', -1, 'k')":                            "the amount is -1",
		"select wallet.spend('u1', 0.5, 'k')":                           "the amount is 0.5",
		"select wallet.spend('u1', 9223372036854775808, 'k')":           "the amount is 9223372036854775808",
		"select wallet.spend('u1', 'NaN', 'k')":                         "the amount is NaN",
		"select wallet.spend('u1', null, 'k')":                          "the amount is null",
		"select wallet.spend('u1', 1, '')":                              "the key has 0 bytes",
		"select wallet.spend('u1', 1, null)":                            "the key has 0 bytes",
		"select wallet.spend('u1', 1, repeat('k', 10000))":              "the key has 10000 bytes, must have 1 to 255",
		"select wallet.spend(null, 1, 'k')":                             "the user has 0 bytes",
		"select wallet.spend(repeat('u', 256), 1, 'k')":                 "the user has 256 bytes",
		"select wallet.spend('u1', 1, 'k', repeat('n', 1001))":          "the note has 1001 bytes",
		"select wallet.hold('u1', 1, 'k', '0 hours')":                   "the hold lasts 00:00:00, must be above 0",
		"select wallet.hold('u1', 1, 'k', '-1 hour')":                   "the hold lasts -01:00:00",
		"select wallet.hold('u1', 1, 'k', '367 days')":                  "at most 366 days",
		"select wallet.hold('u1', 1, 'k', '12 months 6 days')":          "at most 366 days",
		"select wallet.hold('u1', 1, 'k', '-12 months 364 days')":       "above 0",
		"select wallet.hold('u1', 1, 'k', null)":                        "must be above 0",
		"select wallet.hold('u1', 1, 'k', 'infinity')":                  "infinity", // PostgreSQL 17 has such intervals
		"select wallet.hold('u1', 1, 'k', '-infinity')":                 "infinity",
		"select wallet.hold('u1', 1, 'k', '178000000 years')":           "at most 366 days",
		"select wallet.hold('u1', 1, null, '1 hour')":                   "the key has 0 bytes",
		"select wallet.hold(null, 1, 'k', '1 hour')":                    "the user has 0 bytes",
		"select wallet.spend('', 1, 'k')":                               "the user has 0 bytes",
		"select wallet.spend('u1', 'Infinity', 'k')":                    "the amount is Infinity",
		"select wallet.spend('u1', 1e1000, 'k')":                        "the amount is 1000",
		"select wallet.confirm('k', null)":                              "the amount is null",
		"select wallet.confirm('k', 9223372036854775808)":               "the amount is 9223372036854775808",
		"select wallet.confirm(repeat('k', 10000), 1)":                  "nothing was spent or held with the key 'kkk",
		"select wallet.give_back('k', null)":                            "the amount is null",
		"select wallet.give_back(null, 1)":                              "nothing was spent or held",
		"select wallet.release(null)":                                   "nothing was spent or held",
		"select wallet.hold('u1', 99999999999999999999, 'k', '1 hour')": "the amount is 99999999999999999999",
		"select wallet.confirm('k', 0)":                                 "the amount is 0",
		"select wallet.give_back('k', -5)":                              "the amount is -5",
		"select wallet.confirm(null, 1)":                                "nothing was spent or held",
	} {
		require.ErrorContains(t, w.refused(sql), says, sql)
	}
	require.Zero(t, fixture.Number(w.ctx, t, s, "select count(*) from wallet.spend full join wallet.account using (user_id)"))
	require.False(t, w.spend(t, "u1", 9223372036854775807, "much"))
	require.False(t, w.spend(t, "nobody", 1, "k1"))
	require.False(t, w.hold(t, "nobody", 1, "h1"))
	for _, user := range []any{"nobody", "", nil, strings.Repeat("u", 10_000)} {
		require.Zero(t, ask[int64](t, w, `select wallet.balance($1) + (select count(*) from wallet.grants($1))
			+ (select count(*) from wallet.statement($1) where what <> 'expiry')`, user))
	}
	require.EqualValues(t, 100, w.balance(t, "u1"))
	require.Zero(t, fixture.Number(w.ctx, t, s, "select count(*) from wallet.spend_part"))
}

func TestAHoldIsConfirmedReleasedOrRunsOut(t *testing.T) {
	t.Parallel()
	w, _ := newWallet(t)
	w.grant(t, "p1", "u1", "subscription", 50, "now() + interval '1 day'")
	w.grant(t, "p2", "u1", "one_time", 50, "null")
	require.True(t, w.hold(t, "u1", 80, "h1"))
	require.EqualValues(t, 20, w.balance(t, "u1"))
	for range 2 {
		require.True(t, ask[bool](t, w, "select wallet.confirm('h1', 60)"))
		require.EqualValues(t, 40, w.balance(t, "u1"))
		require.Equal(t, []string{"p1 0", "p2 40"}, w.usable(t, "u1"), "the rest goes back to the last grant first")
	}
	require.ErrorContains(t, w.refused("select wallet.confirm('h1', 61)"), "was confirmed with 60 credits")
	require.False(t, ask[bool](t, w, "select wallet.release('h1')"))

	require.True(t, w.hold(t, "u1", 40, "h2"))
	for range 2 {
		require.True(t, ask[bool](t, w, "select wallet.release('h2')"))
		require.EqualValues(t, 40, w.balance(t, "u1"))
	}
	require.False(t, ask[bool](t, w, "select wallet.confirm('h2', 1)"))

	require.True(t, w.hold(t, "u1", 40, "h3"))
	require.False(t, w.hold(t, "u1", 1, "h4"))
	w.runOut(t, "h3")
	require.EqualValues(t, 40, w.balance(t, "u1"))
	w.requireSums(t, "u1")
	require.False(t, ask[bool](t, w, "select wallet.confirm('h3', 1)"))
	require.True(t, ask[bool](t, w, "select wallet.release('h3')"))
	require.True(t, w.hold(t, "u1", 40, "h3"), "the first answer, and nothing is held")
	require.EqualValues(t, 40, w.balance(t, "u1"))
	require.False(t, ask[bool](t, w, "select wallet.confirm('h4', 1)"), "it was never held")
	require.True(t, w.hold(t, "u1", 1, "h5"))
	require.EqualValues(t, 39, w.balance(t, "u1"))
	w.requireSums(t, "u1")
}

func TestCreditsAreGivenBackToTheGrantsTheyCameFrom(t *testing.T) {
	t.Parallel()
	w, _ := newWallet(t)
	w.grant(t, "p1", "u1", "subscription", 50, "now() + interval '1 day'")
	w.grant(t, "p2", "u1", "one_time", 50, "null")
	require.True(t, w.spend(t, "u1", 70, "k1"))
	giveBack := func(amount int64) int64 { return ask[int64](t, w, "select wallet.give_back('k1', $1)", amount) }
	require.EqualValues(t, 30, giveBack(30))
	require.Equal(t, []string{"p1 10", "p2 50"}, w.usable(t, "u1"))
	w.expire(t, "p1")
	require.EqualValues(t, 40, giveBack(50), "what is left")
	require.Zero(t, giveBack(50))
	require.EqualValues(t, 50, w.balance(t, "u1"), "what has expired stays so")
	require.True(t, w.spend(t, "u1", 70, "k1"), "the first answer")
	w.requireSums(t, "u1")
}

func TestTheStatementHasEverythingInOrder(t *testing.T) {
	t.Parallel()
	w, _ := newWallet(t)
	w.grant(t, "p1", "u1", "subscription", 50, "now() + interval '1 day'")
	w.grant(t, "p2", "u1", "one_time", 50, "null")
	require.True(t, w.spend(t, "u1", 70, "k1"))
	w.reverse(t, "p2", 25)
	require.True(t, w.hold(t, "u1", 5, "h1"))
	w.runOut(t, "h1")
	require.EqualValues(t, 10, ask[int64](t, w, "select wallet.give_back('k1', 30)")-20)
	w.expire(t, "p1")
	require.Equal(t, []string{
		"grant paid_p1 p1/1 50 = 50", "grant paid_p2 p2/1 50 = 100", "spend k1 p1/1 -50 = 50", "spend k1 p2/1 -20 = 30",
		"refund refund_p2 p2/1 -25 = 5", "hold h1 p2/1 -5 = 0", "release h1 p2/1 5 = 5",
		"give_back k1 p1/1 10 = 15", "give_back k1 p2/1 20 = 35", "expiry - p1/1 -10 = 25",
	}, ask[[]string](t, w, `select array_agg(concat_ws(' ', what, coalesce(key, event_id, '-'),
		provider_payment_id || '/' || part, delta, '=', balance)) from wallet.statement('u1')`))
	require.EqualValues(t, 25, w.balance(t, "u1"))
}

// What comes back to a grant that has expired does not change what the statement says of earlier moments.
func TestTheStatementHasTheBalanceOfEachMoment(t *testing.T) {
	t.Parallel()
	for name, then := range map[string]func(*testing.T, wallet){
		"nothing":         func(*testing.T, wallet) {},
		"a hold runs out": func(t *testing.T, w wallet) { w.runOut(t, "h1") },
		"a hold is released": func(t *testing.T, w wallet) {
			require.True(t, ask[bool](t, w, "select wallet.release('h1')"))
		},
		"a hold is confirmed in part": func(t *testing.T, w wallet) {
			require.True(t, ask[bool](t, w, "select wallet.confirm('h1', 11)"))
		},
		"credits are given back": func(t *testing.T, w wallet) {
			require.EqualValues(t, 20, ask[int64](t, w, "select wallet.give_back('k1', 20)"))
		},
		"a part is refunded":           func(t *testing.T, w wallet) { w.reverse(t, "p1", 25) },
		"all is refunded":              func(t *testing.T, w wallet) { w.reverse(t, "p1", 100) },
		"what pays a debt was granted": func(t *testing.T, w wallet) { w.reverse(t, "p1", 100); w.grant(t, "p3", "u1", "one_time", 40, "null") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, _ := newWallet(t)
			var moments []time.Time
			var balances []int64
			look := func() {
				moments = append(moments, ask[time.Time](t, w, "select now()"))
				balances = append(balances, w.balance(t, "u1"))
			}
			w.grant(t, "p1", "u1", "subscription", 100, "now() + interval '1 day'")
			w.grant(t, "p2", "u1", "one_time", 10, "null")
			look()
			require.True(t, w.spend(t, "u1", 30, "k1"))
			require.True(t, w.hold(t, "u1", 40, "h1"))
			look()
			w.expire(t, "p1")
			look()
			then(t, w)
			look()
			w.requireSums(t, "u1")
			var said []int64
			for _, moment := range moments {
				said = append(said, ask[int64](t, w, `select (array_agg(balance))[count(*)] from wallet.statement('u1')
					where at <= $1`, moment))
			}
			require.Equal(t, balances, said)
		})
	}
}
