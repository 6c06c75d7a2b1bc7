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

// replies are what GitHub may answer to an invitation; those that refuse for
// good are left out, for nothing is lost in them.
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

// bought is one purchase: whose, and whom it names.
type bought struct {
	user, gitHubUser string
	refunded         bool
}

// buyers is a few users who buy for a few GitHub users, in whatever combination.
type buyers struct {
	*world
	purchases []bought
	refunds   map[string]int // of a GitHub user's purchases
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

// name brings a GitHub user for a purchase; the first one counts.
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

func (b *buyers) accept(t *rapid.T) {
	name := gitHubUser(rapid.IntRange(0, gitHubUsers-1).Draw(t, "who accepts"))
	if b.github.Invitation(name) != nil {
		b.github.Accept(t, name)
	}
}

func (b *buyers) any(t *rapid.T) int {
	return rapid.IntRange(0, len(b.purchases)-1).Draw(t, "purchase")
}

// keeps says whether somebody has paid for the GitHub user and has not got it back.
func (b *buyers) keeps(gitHubUser string) bool {
	for _, one := range b.purchases {
		if one.gitHubUser == gitHubUser && !one.refunded {
			return true
		}
	}
	return false
}

func TestWhateverHappensEveryKeptPurchaseIsInvitedOnceAndNoRefundedOneStays(t *testing.T) {
	t.Parallel()
	w := setup(t)
	rapid.Check(t, func(rt *rapid.T) {
		w.exec(rt, `delete from portal.payment; delete from portal.pro_license; delete from portal.reversal; delete from portal.processed_event;
			delete from payfold.invitation; delete from payfold.invitation_attempt; delete from payfold.invitation_pause`)
		w.clock.Advance(365 * 24 * time.Hour)
		w.github = testenv.NewGitHub(t, w.clock.Now)
		w.perDay, w.remove = rapid.IntRange(2, 5).Draw(rt, "per day"), rapid.Bool().Draw(rt, "remove")
		b := &buyers{world: w, refunds: map[string]int{}}
		b.buy(rt)
		for range rapid.IntRange(0, 6).Draw(rt, "answers") {
			w.github.Script(gitHubUser(rapid.IntRange(0, gitHubUsers-1).Draw(rt, "to whom")), rapid.SampledFrom(replies).Draw(rt, "answer"))
		}
		for range rapid.IntRange(1, 8).Draw(rt, "rounds") {
			for range rapid.IntRange(1, 3).Draw(rt, "things") {
				w.clock.Advance(time.Second)
				switch rapid.IntRange(0, 6).Draw(rt, "what") {
				case 0:
					w.github.Script("", rapid.SampledFrom(replies).Draw(rt, "to anything"))
				case 1:
					b.refund(rt)
				case 2:
					b.accept(rt)
				case 3:
					b.name(rt)
				default:
					b.buy(rt)
				}
			}
			w.runAndDie(rt, t, rapid.IntRange(0, 20).Draw(rt, "steps"))
			w.clock.Advance(time.Duration(rapid.IntRange(0, 100).Draw(rt, "seconds")) * time.Second)
			w.requireQuota(rt)
		}
		w.github.Forget()
		for range 4 { // days of the quota, and an hour's pause
			w.clock.Advance(24*time.Hour + time.Minute)
			require.True(rt, w.runAndDie(rt, t, 1000))
			w.requireQuota(rt)
		}
		b.requireGitHub(rt)
		b.requireRows(rt)
	})
}

// requireGitHub: who is paid for is in, nobody else is, and nobody was asked twice.
func (b *buyers) requireGitHub(t *rapid.T) {
	for i := range gitHubUsers {
		name := gitHubUser(i)
		require.Zero(t, b.github.Repeated(name), name)
		require.LessOrEqual(t, b.github.Sent(name), 1+b.refunds[name], "%s: one more only after a refund", name)
		switch {
		case b.keeps(name):
			require.True(t, b.github.HasAccess(name) || b.github.Invitation(name) != nil, "%s was paid for", name)
		default:
			require.Nil(t, b.github.Invitation(name), name)
			require.False(t, b.remove && b.github.HasAccess(name), name)
		}
	}
}

// requireRows: each purchase has its own invitation.
func (b *buyers) requireRows(t *rapid.T) {
	list, err := List(t.Context(), b.tables)
	require.NoError(t, err)
	status := map[string]string{}
	for _, one := range list {
		status[one.PaymentID] = one.Status
	}
	for i, one := range b.purchases {
		is := status[paymentOf(i)]
		switch {
		case one.refunded:
			require.Contains(t, []string{"", Withdrawn}, is, "purchase %d", i)
		case one.gitHubUser == "":
			require.Equal(t, Pending, is, "purchase %d", i)
		default:
			require.Contains(t, []string{Invited, Collaborator}, is, "purchase %d", i)
		}
	}
}

// requireQuota: GitHub has made no more invitations in any 24 hours than allowed.
func (w *world) requireQuota(t require.TestingT) {
	var sent []time.Time
	for i := range gitHubUsers {
		if one := w.github.Invitation(gitHubUser(i)); one != nil {
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
		require.LessOrEqual(t, n, w.perDay)
	}
}
