package wallet_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

// purse is what a user has, computed step by step: a debt is paid as soon as there is something to pay it with.
type purse struct {
	grants []*purseGrant // in the order in which they came
	owed   int64
	taken  map[string][]taking // by key; what was returned is not in it
	net    int64               // granted, less reversed and spent, whatever has expired
}

type purseGrant struct {
	name, kind    string
	expires       int // in days; 0: never
	left, granted int64
	lapsed        bool
}

type taking struct {
	from   *purseGrant
	amount int64
}

// inOrder lists the grants that can be spent, in the order in which they are.
func (p *purse) inOrder() (all []*purseGrant) {
	for _, g := range p.grants {
		if !g.lapsed {
			all = append(all, g)
		}
	}
	last := func(never bool) int {
		if never {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(all, func(a, b *purseGrant) int {
		return cmp.Or(last(a.expires == 0)-last(b.expires == 0), cmp.Compare(a.expires, b.expires),
			-cmp.Compare(a.kind, b.kind))
	})
	return all
}

func (p *purse) balance() (sum int64) {
	for _, g := range p.inOrder() {
		sum += g.left
	}
	return sum - p.owed
}

func (p *purse) pay() {
	for _, g := range p.inOrder() {
		paid := min(p.owed, g.left)
		p.owed, g.left = p.owed-paid, g.left-paid
	}
}

func (p *purse) take(key string, amount int64) bool {
	if p.balance() < amount {
		return false
	}
	p.net -= amount
	for _, g := range p.inOrder() {
		if part := min(amount, g.left); part > 0 {
			g.left, amount = g.left-part, amount-part
			p.taken[key] = append(p.taken[key], taking{g, part})
		}
	}
	return true
}

// giveBack returns credits of a key to their grants, and how many.
func (p *purse) giveBack(key string, most int64) (total int64) {
	for i := range slices.Backward(p.taken[key]) {
		one := &p.taken[key][i]
		part := min(most-total, one.amount)
		one.amount, total = one.amount-part, total+part
		one.from.left += part
	}
	p.net += total
	p.pay()
	return total
}

func (p *purse) reverse(g *purseGrant, amount int64) {
	g.granted -= amount
	g.left -= amount
	p.net -= amount
	if g.left < 0 {
		p.owed, g.left = p.owed-g.left, 0
	}
	p.pay()
}

// shopper does the same to a wallet and to a purse.
type shopper struct {
	wallet
	purse
	calls int
	held  map[string]int64 // amounts of holds that are neither confirmed nor released
	spent []string

	moments  []time.Time // after each action
	balances []int64     // at these moments
}

// look notes the balance, and requires that the statement has each balance that was noted.
func (s *shopper) look(r *rapid.T) {
	s.moments = append(s.moments, ask[time.Time](r, s.wallet, "select now()"))
	s.balances = append(s.balances, s.wallet.balance(r, "u1"))
	require.Equal(r, s.balances, ask[[]int64](r, s.wallet, `
		with line as materialized (select row_number() over () as n, at, balance from wallet.statement('u1'))
		select array_agg(coalesce((select balance from line where line.at <= m.at order by line.n desc limit 1), 0) order by m.n)
		from unnest($1::timestamptz[]) with ordinality as m (at, n)`, s.moments), "what the statement says of earlier moments")
}

func (s *shopper) buy(r *rapid.T) {
	g := &purseGrant{
		name:    fmt.Sprint("p", len(s.grants)),
		kind:    rapid.SampledFrom([]string{"subscription", "one_time"}).Draw(r, "kind"),
		expires: rapid.IntRange(0, 4).Draw(r, "days"),
		left:    rapid.Int64Range(1, 100).Draw(r, "credits"),
	}
	expires := "null"
	if g.expires > 0 {
		expires = fmt.Sprintf("date_trunc('year', now()) + interval '2 years %d days'", g.expires)
	}
	s.grant(r, g.name, "u1", g.kind, g.left, expires)
	g.granted = g.left
	s.grants, s.net = append(s.grants, g), s.net+g.left
	s.pay()
}

func (s *shopper) pick(r *rapid.T) *purseGrant {
	if len(s.grants) == 0 {
		r.Skip("there are no grants")
	}
	return rapid.SampledFrom(s.grants).Draw(r, "grant")
}

func (s *shopper) refund(r *rapid.T) {
	g := s.pick(r)
	if g.granted == 0 {
		r.Skip("nothing is left")
	}
	amount := rapid.Int64Range(1, g.granted).Draw(r, "refunded")
	s.wallet.reverse(r, g.name, amount)
	s.purse.reverse(g, amount)
}

// lapse makes the grants that expire next expire.
func (s *shopper) lapse(r *rapid.T) {
	open := s.inOrder()
	if len(open) == 0 || open[0].expires == 0 {
		r.Skip("nothing expires")
	}
	open[0].lapsed = true
	s.expire(r, open[0].name)
}

func (s *shopper) key() string {
	s.calls++
	return fmt.Sprint("k", s.calls)
}

func (s *shopper) spendSome(r *rapid.T) {
	key, amount := s.key(), rapid.Int64Range(1, 120).Draw(r, "amount")
	want := s.take(key, amount)
	for range rapid.IntRange(1, 2).Draw(r, "calls") {
		require.Equal(r, want, s.wallet.spend(r, "u1", amount, key), "spend %d", amount)
	}
	if want {
		s.spent = append(s.spent, key)
	}
}

func (s *shopper) holdSome(r *rapid.T) {
	key, amount := s.key(), rapid.Int64Range(1, 120).Draw(r, "amount")
	want := s.take(key, amount)
	require.Equal(r, want, s.wallet.hold(r, "u1", amount, key), "hold %d", amount)
	if want {
		s.held[key] = amount
	}
}

func (s *shopper) endHold(r *rapid.T) {
	if len(s.held) == 0 {
		r.Skip("nothing is held")
	}
	var keys []string
	for key := range s.held {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	key := rapid.SampledFrom(keys).Draw(r, "hold")
	amount := s.held[key]
	delete(s.held, key)
	switch rapid.IntRange(0, 2).Draw(r, "end") {
	case 0:
		s.purse.giveBack(key, amount)
		require.True(r, ask[bool](r, s.wallet, "select wallet.release($1)", key))
	case 1:
		s.purse.giveBack(key, amount)
		s.runOut(r, key)
	default:
		confirmed := rapid.Int64Range(1, amount).Draw(r, "confirmed")
		s.purse.giveBack(key, amount-confirmed)
		require.True(r, ask[bool](r, s.wallet, "select wallet.confirm($1, $2)", key, confirmed))
		s.spent = append(s.spent, key)
	}
}

func (s *shopper) giveSomeBack(r *rapid.T) {
	if len(s.spent) == 0 {
		r.Skip("nothing is spent")
	}
	key, amount := rapid.SampledFrom(s.spent).Draw(r, "spend"), rapid.Int64Range(1, 60).Draw(r, "amount")
	want := s.purse.giveBack(key, amount)
	require.Equal(r, want, ask[int64](r, s.wallet, "select wallet.give_back($1, $2)", key, amount))
}

// Any grants, refunds, expiries, spends, holds, confirmations, releases and returns: the wallet has what a purse has in
// which everything is done at once, and the statement has the balance of each moment. Where credits return and debts are
// paid, nothing expires: which of two expired grants has paid a debt can change when credits return to one of them.
func TestAWalletIsAPurse(t *testing.T) {
	t.Parallel()
	w, tables := newWallet(t)
	rapid.Check(t, func(r *rapid.T) {
		emptyWallets(t, w, tables)
		s := &shopper{wallet: w, purse: purse{taken: map[string][]taking{}}, held: map[string]int64{}}
		actions := map[string]func(*rapid.T){"buy": s.buy, "spend": s.spendSome, "hold": s.holdSome}
		expiring := true
		switch rapid.IntRange(0, 2).Draw(r, "shop") {
		case 0:
			actions["refund"], actions["lapse"] = s.refund, s.lapse
		case 1:
			actions["lapse"], actions["end a hold"], actions["give back"] = s.lapse, s.endHold, s.giveSomeBack
		default:
			actions["refund"], actions["end a hold"], actions["give back"] = s.refund, s.endHold, s.giveSomeBack
			expiring = false
		}
		actions[""] = func(r *rapid.T) {
			require.Equal(r, s.purse.balance(), s.wallet.balance(r, "u1"))
			if !expiring {
				require.Equal(r, s.net, s.wallet.balance(r, "u1"))
			}
			s.requireSums(r, "u1")
			s.look(r)
		}
		r.Repeat(actions)
	})
}

func emptyWallets(t *testing.T, w wallet, s *store.Store) {
	fixture.Reset(w.ctx, t, s, fixture.AnyMode)
	_, err := s.Pool().Exec(w.ctx, "truncate wallet.spend_part, wallet.spend, wallet.account")
	require.NoError(t, err)
}
