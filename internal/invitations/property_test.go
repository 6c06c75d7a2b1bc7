package invitations

import (
	"cmp"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/payfold/payfold/internal/testenv"
)

// replies are GitHub's answers to an invitation, without permanent failures: after those
// nobody is invited.
var replies = []testenv.Reply{
	{},
	{Drops: true},
	{Drops: true, Acts: true},
	{Status: 500},
	{Status: 502, Acts: true},
	{Status: 429},
	{Status: 403, Header: map[string]string{"Retry-After": "5"}},
	{Status: 401},
	{Status: 403},
}

// bought is one purchase.
type bought struct {
	user, gitHubUser string
	refunded         bool // wholly
	partly, paid     bool // a part was refunded; it is known what was paid
}

// kept says whether the purchase is not refunded. A part counts as the whole until it is known what was paid.
func (b bought) kept() bool { return !b.refunded && (b.paid || !b.partly) }

// buyers is a few users who buy for a few GitHub users, in any combination.
type buyers struct {
	*world
	purchases []bought
	refunds   map[string]int // number of refunded purchases by GitHub user
	byHand    string         // the GitHub user whom somebody else invited before the purchases; empty: none
}

func paymentOf(i int) string { return fmt.Sprint("pay", i) }

const gitHubUsers = 4

func gitHubUser(i int) string { return fmt.Sprint("octo", i) }

func (b *buyers) buy(t *rapid.T) {
	one := bought{user: fmt.Sprint("u", rapid.IntRange(0, 2).Draw(t, "user"))}
	if i := rapid.IntRange(-1, gitHubUsers-1).Draw(t, "GitHub user"); i >= 0 {
		one.gitHubUser = gitHubUser(i)
	}
	b.deliver(t, b.purchase(one.user, paymentOf(len(b.purchases)), one.gitHubUser))
	b.purchases = append(b.purchases, one)
}

// name delivers a second event of a purchase with a GitHub user. The first name counts.
func (b *buyers) name(t *rapid.T) {
	i := b.any(t)
	name := gitHubUser(rapid.IntRange(0, gitHubUsers-1).Draw(t, "named"))
	b.deliver(t, b.purchase(b.purchases[i].user, paymentOf(i), name))
	b.purchases[i].gitHubUser = cmp.Or(b.purchases[i].gitHubUser, name)
}

func (b *buyers) refund(t *rapid.T) {
	i := b.any(t)
	b.deliver(t, b.reversal(paymentOf(i)))
	b.purchases[i].refunded = true
	b.refunds[b.purchases[i].gitHubUser]++
}

func (b *buyers) refundPart(t *rapid.T) {
	i := b.any(t)
	b.deliver(t, b.partialRefund(paymentOf(i)))
	before := b.purchases[i].kept()
	b.purchases[i].partly = true
	if before && !b.purchases[i].kept() {
		b.refunds[b.purchases[i].gitHubUser]++
	}
}

// pay delivers a second event of a purchase with what was paid.
func (b *buyers) pay(t *rapid.T) {
	i := b.any(t)
	b.deliver(t, b.paid(b.purchases[i].user, paymentOf(i), b.purchases[i].gitHubUser))
	b.purchases[i].paid = true
}

func (b *buyers) accept(t *rapid.T) {
	name := gitHubUser(rapid.IntRange(0, gitHubUsers-1).Draw(t, "who accepts"))
	if b.github.Invitation(name) != nil {
		b.github.Accept(t, name)
	}
}

func (b *buyers) any(t *rapid.T) int {
	return rapid.IntRange(0, len(b.purchases)-1).Draw(t, "purchase")
}

// keeps says whether a purchase for the GitHub user is not refunded.
func (b *buyers) keeps(gitHubUser string) bool {
	for _, one := range b.purchases {
		if one.gitHubUser == gitHubUser && one.kept() {
			return true
		}
	}
	return false
}

func TestEveryKeptPurchaseIsInvitedOnceAndNoRefundedOneStaysInvited(t *testing.T) {
	t.Parallel()
	w := setup(t)
	rapid.Check(t, func(rt *rapid.T) {
		w.exec(rt, `delete from portal.payment_facts; delete from portal.pro_license; delete from portal.reversal; delete from portal.processed_event;
			delete from payfold.invitation; delete from payfold.invitation_attempt; delete from payfold.invitation_pause`)
		w.clock.Advance(365 * 24 * time.Hour)
		w.github = testenv.NewGitHub(t, w.clock.Now)
		w.perDay, w.remove = rapid.IntRange(2, 5).Draw(rt, "per day"), rapid.Bool().Draw(rt, "remove")
		b := &buyers{world: w, refunds: map[string]int{}}
		if rapid.Bool().Draw(rt, "by hand") {
			b.byHand = gitHubUser(0)
			w.github.InviteByHand(b.byHand)
			w.clock.Advance(2 * clockSkew)
		}
		b.buy(rt)
		for range rapid.IntRange(0, 6).Draw(rt, "answers") {
			w.github.Script(gitHubUser(rapid.IntRange(0, gitHubUsers-1).Draw(rt, "to whom")), rapid.SampledFrom(replies).Draw(rt, "answer"))
		}
		for range rapid.IntRange(1, 8).Draw(rt, "rounds") {
			for range rapid.IntRange(1, 3).Draw(rt, "things") {
				w.clock.Advance(time.Second)
				switch rapid.IntRange(0, 9).Draw(rt, "what") {
				case 0:
					w.github.Script("", rapid.SampledFrom(replies).Draw(rt, "to anything"))
				case 1:
					b.refund(rt)
				case 2:
					b.accept(rt)
				case 3:
					b.name(rt)
				case 4:
					b.refundPart(rt)
				case 5:
					b.pay(rt)
				default:
					b.buy(rt)
				}
			}
			w.runAndDie(rt, t, rapid.IntRange(0, 20).Draw(rt, "steps"))
			w.clock.Advance(time.Duration(rapid.IntRange(0, 100).Draw(rt, "seconds")) * time.Second)
			b.requireQuota(rt)
		}
		w.github.ClearScripts()
		for range 4 { // enough days for the quota, each longer than any pause
			w.clock.Advance(24*time.Hour + time.Minute)
			require.True(rt, w.runAndDie(rt, t, 1000))
			b.requireQuota(rt)
		}
		b.requireGitHub(rt)
		b.requireRows(rt)
	})
}

// requireGitHub: GitHub users with a kept purchase have access or an invitation, others
// have none, and nobody was invited twice.
func (b *buyers) requireGitHub(t *rapid.T) {
	for i := range gitHubUsers {
		name := gitHubUser(i)
		require.Zero(t, b.github.Repeated(name), name)
		require.LessOrEqual(t, b.github.Sent(name), 1+b.refunds[name], "%s: only a refund allows one more", name)
		switch {
		case name == b.byHand && b.remove && !b.keeps(name): // where a process died and the user accepts before the next look, payfold may have invited
		case name == b.byHand:
			require.True(t, b.github.HasAccess(name) || b.github.Invitation(name) != nil, "%s was invited by hand", name)
			require.True(t, b.remove || b.github.Sent(name) == 1, "%s was invited by hand", name)
		case b.keeps(name):
			require.True(t, b.github.HasAccess(name) || b.github.Invitation(name) != nil, "%s was paid for", name)
		default:
			require.Nil(t, b.github.Invitation(name), name)
			require.False(t, b.remove && b.github.HasAccess(name), name)
		}
	}
}

// requireRows: the invitation of each purchase has the right status.
func (b *buyers) requireRows(t *rapid.T) {
	all, err := List(t.Context(), b.tables, time.Now())
	require.NoError(t, err)
	status := map[string]string{}
	for _, one := range all.Invitations {
		status[one.PaymentID] = one.Status
	}
	for i, one := range b.purchases {
		is := status[paymentOf(i)]
		switch {
		case !one.kept():
			require.Contains(t, []string{"", Withdrawn}, is, "purchase %d", i)
		case one.gitHubUser == "":
			require.Equal(t, Pending, is, "purchase %d", i)
		default:
			require.Contains(t, []string{Invited, Collaborator}, is, "purchase %d", i)
		}
	}
}

// requireQuota: GitHub has made no more invitations of payfold's in any 24 hours than allowed.
func (b *buyers) requireQuota(t require.TestingT) {
	var sent []time.Time
	for i := range gitHubUsers {
		if one := b.github.Invitation(gitHubUser(i)); one != nil && one.Login != b.byHand {
			sent = append(sent, one.CreatedAt)
		}
	}
	for _, first := range sent {
		n := 0
		for _, at := range sent {
			if !at.Before(first) && at.Before(first.Add(24*time.Hour)) {
				n++
			}
		}
		require.LessOrEqual(t, n, b.perDay)
	}
}
