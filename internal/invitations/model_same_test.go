package invitations

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/payfold/payfold/internal/testenv"
)

// both is the real tables and the model, which get the same statements.
type both struct {
	*world
	model    *model
	records  records
	reserved []*Attempt
	payments int
}

func (b *both) repository() string { return b.records.repository }

// write makes the row of a payment in Postgres that the model has.
func (b *both) write(t *rapid.T, p *modelPayment) {
	b.model.payments[p.ID] = p
	b.exec(t, "delete from portal.payment_facts where provider_payment_id = $1", p.ID)
	b.exec(t, `insert into portal.payment_facts (provider_payment_id, provider, transaction_id, order_id, user_id, kind, reversed_at, github_username,
		event_id, occurred_at, stream_seq, paid, known, lasts, reversed_seq) values ($1, 'provider', $2, $3, $4, $5, $6, $7, 'evt', $8, 1, true, true, false, 0)`,
		p.ID, pointerTo(p.Transaction), pointerTo(p.Order), pointerTo(p.User), p.Kind, p.EndedAt, pointerTo(p.GitHubUser), p.OccurredAt)
}

func (b *both) remove(t *rapid.T, p *modelPayment) {
	delete(b.model.payments, p.ID)
	b.exec(t, "delete from portal.payment_facts where provider_payment_id = $1", p.ID)
}

func (b *both) drawName(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", "octo", "Octo", "hubot"}).Draw(t, "name")
}

func (b *both) drawUser(t *rapid.T) string {
	return rapid.SampledFrom([]string{"u0", "u1"}).Draw(t, "user")
}

// drawTransaction draws an id that no other payment has.
func (b *both) drawTransaction(t *rapid.T) string {
	id := rapid.SampledFrom([]string{"", "pay1", "pay2", "pay3"}).Draw(t, "transaction")
	for _, p := range b.model.payments {
		if id == p.Transaction {
			return ""
		}
	}
	return id
}

// change changes the payments, as projectors do.
func (b *both) change(t *rapid.T) {
	all := b.model.sortedPayments()
	if len(all) == 0 || rapid.IntRange(0, 2).Draw(t, "new") == 0 {
		b.payments++
		b.write(t, &modelPayment{
			ID: fmt.Sprint("pay", b.payments), User: b.drawUser(t), Kind: "pro", GitHubUser: b.drawName(t), OccurredAt: b.clock.Now(),
			Transaction: b.drawTransaction(t),
		})
		return
	}
	p := *rapid.SampledFrom(all).Draw(t, "payment")
	switch rapid.IntRange(0, 6).Draw(t, "what") {
	case 0, 1:
		ended := b.clock.Now().Add(-time.Duration(rapid.SampledFrom([]int{0, 0, 200}).Draw(t, "ago")) * time.Hour)
		p.EndedAt = &ended
	case 2:
		p.EndedAt = nil
	case 3:
		p.GitHubUser = b.drawName(t)
	case 4:
		p.Kind = rapid.SampledFrom([]string{"pro", "one_time"}).Draw(t, "kind")
	case 5:
		p.User = rapid.SampledFrom([]string{"", "u0", "u1"}).Draw(t, "of")
	case 6: // the payment gets another id
		b.remove(t, &p)
		if rapid.Bool().Draw(t, "known") {
			p.Order = p.ID
		}
		b.payments++
		p.ID = fmt.Sprint("pay", b.payments)
	}
	b.write(t, &p)
}

// answer draws any answer to an attempt.
func (b *both) answer(t *rapid.T, attempt *Attempt) Answer {
	next := attempt.Invitation
	next.Status = rapid.SampledFrom(Statuses).Draw(t, "status")
	if next.Status == Invited || rapid.Bool().Draw(t, "sent before") {
		at, id := b.clock.Now(), int64(rapid.IntRange(1, 3).Draw(t, "id"))
		next.InvitedAt, next.InvitationID = &at, &id
	}
	next.Repeats, next.ConsecutiveFailures = rapid.IntRange(0, 1).Draw(t, "repeats"), rapid.IntRange(0, 2).Draw(t, "failures")
	next.DueAt = b.clock.Now().Add(time.Duration(rapid.SampledFrom([]int{0, 0, 1, 30}).Draw(t, "due")) * time.Hour)
	out := Answer{
		Outcome: rapid.SampledFrom([]string{OutcomeSent, OutcomeNotSent, OutcomeUnknown}).Draw(t, "outcome"), Message: "answer",
		Ended: rapid.SampledFrom([]string{"", OutcomeSent, OutcomeNotSent}).Draw(t, "ended"), Next: next,
	}
	if rapid.Bool().Draw(t, "known whose") {
		ours := rapid.Bool().Draw(t, "not ours")
		out.NotOurs = &ours
	}
	return out
}

// step executes one method of records in both.
func (b *both) step(t *rapid.T) {
	ctx, now := t.Context(), b.clock.Now()
	var users []string
	if rapid.Bool().Draw(t, "of one user") {
		users = []string{b.drawUser(t)}
	}
	var attempt *Attempt
	if len(b.reserved) > 0 {
		attempt = rapid.SampledFrom(b.reserved).Draw(t, "attempt")
	}
	switch what := rapid.IntRange(0, 11).Draw(t, "method"); {
	case what < 3:
		require.NoError(t, b.records.scan(ctx, users))
		for _, do := range b.model.scanSteps(b.repository(), now, users) {
			do()
		}
	case what < 6:
		b.reserve(t)
	case what < 7 && attempt != nil:
		require.Equal(t, b.model.asking(attempt), b.records.asking(ctx, attempt))
	case what < 9 && attempt != nil:
		answer := b.answer(t, attempt)
		err := b.records.record(ctx, attempt, answer)
		if err != nil && !errors.Is(err, errAttemptExpired) {
			require.NoError(t, err)
		}
		require.Equal(t, b.model.record(attempt, answer, now), err)
	case what == 9:
		pause := Pause{Repository: b.repository(), Until: now.Add(time.Duration(rapid.IntRange(1, 30).Draw(t, "hours")) * time.Hour), Reason: "reason"}
		pause.Cause = rapid.SampledFrom([]string{PauseLimit, PauseDenied}).Draw(t, "cause")
		require.NoError(t, b.records.pause(ctx, pause))
		b.model.pause(pause)
	case what == 10:
		require.NoError(t, b.records.resume(ctx))
		b.model.resume(b.repository(), now)
	default:
		user := b.drawUser(t)
		repositories, err := Retry(ctx, b.tables, user, now)
		require.NoError(t, err)
		require.ElementsMatch(t, b.model.retry(user, now), repositories)
	}
}

// reserve reserves in Postgres, and then what was reserved there in the model, which must have that choice.
func (b *both) reserve(t *rapid.T) {
	perDay, now := rapid.IntRange(1, 3).Draw(t, "per day"), b.clock.Now()
	attempt, err := b.records.reserve(t.Context(), perDay)
	require.NoError(t, err)
	if b.model.paused(b.repository(), now) {
		require.Nil(t, attempt)
		return
	}
	b.model.endAttempts(b.repository(), now)
	choices := b.model.choices(b.repository(), now, perDay)
	if attempt == nil {
		require.Empty(t, choices)
		return
	}
	for _, c := range choices {
		if c.of.Key() == attempt.Key() && c.purpose == attempt.Purpose {
			b.model.nextAttempt = attempt.ID // a rolled back statement uses up an id
			like := b.model.reserveChoice(c, now)
			require.ElementsMatch(t, like.Sent, attempt.Sent)
			like.Sent = attempt.Sent
			require.Equal(t, inUTC(*like), inUTC(*attempt))
			b.reserved = append(b.reserved, attempt)
			return
		}
	}
	require.Fail(t, "Postgres reserves what the model does not", "%s %v of %v", attempt.Purpose, attempt.Key(), choices)
}

func inUTC(a Attempt) Attempt {
	a.MaySince, a.Invitation = a.MaySince.UTC(), inUTCInvitation(a.Invitation)
	return a
}

func inUTCInvitation(i Invitation) Invitation {
	i.ActivatedAt, i.DueAt, i.ChangedAt = i.ActivatedAt.UTC(), i.DueAt.UTC(), i.ChangedAt.UTC()
	i.InvitedAt = utc(i.InvitedAt)
	return i
}

func utc(at *time.Time) *time.Time {
	if at == nil {
		return nil
	}
	in := at.UTC()
	return &in
}

// requireSame compares all rows.
func (b *both) requireSame(t *rapid.T) {
	ctx := t.Context()
	have, err := list(ctx, b.db, "true", "user_id, repository, provider_payment_id")
	require.NoError(t, err)
	for i := range have {
		have[i] = inUTCInvitation(have[i])
	}
	want := []Invitation{}
	notOurs := []string{}
	for _, one := range b.model.sorted() {
		want = append(want, inUTCInvitation(one.Invitation))
		if one.NotOurs {
			notOurs = append(notOurs, one.UserID+one.Repository+one.PaymentID)
		}
	}
	require.Equal(t, want, have)
	rows, _ := b.db.Query(ctx, "select user_id || repository || provider_payment_id from payfold.invitation where not_ours order by user_id, repository, provider_payment_id")
	theirs, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Equal(t, notOurs, append([]string{}, theirs...))

	rows, _ = b.db.Query(ctx, `select attempt_id, user_id, repository, provider_payment_id, github_username, purpose, reserved_at, unasked, answered_at, outcome, answer
		from payfold.invitation_attempt order by attempt_id`)
	attempts, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (a modelAttempt, err error) {
		err = row.Scan(&a.ID, &a.Key.UserID, &a.Key.Repository, &a.Key.PaymentID, &a.GitHubUser, &a.Purpose, &a.ReservedAt, &a.Unasked, &a.AnsweredAt, &a.Outcome, &a.Answer)
		a.ReservedAt, a.AnsweredAt = a.ReservedAt.UTC(), utc(a.AnsweredAt)
		return a, err
	})
	require.NoError(t, err)
	require.Len(t, attempts, len(b.model.attempts))
	for i, one := range b.model.attempts {
		require.Equal(t, *one, attempts[i])
	}

	pauses, err := Pauses(ctx, b.db, time.Time{})
	require.NoError(t, err)
	require.Len(t, pauses, len(b.model.pauses))
	for _, pause := range pauses {
		pause.Until = pause.Until.UTC()
		require.Equal(t, b.model.pauses[pause.Repository], pause)
	}
	now, err := b.records.figures(ctx)
	require.NoError(t, err)
	require.Equal(t, b.model.quotaUsed(b.repository(), b.clock.Now()), now.used)
}

// The schedules run on the model, so it must mean what the SQL means.
func TestTheModelDoesWhatPostgresDoes(t *testing.T) {
	t.Parallel()
	w := setup(t)
	rapid.Check(t, func(rt *rapid.T) {
		w.exec(rt, `delete from portal.payment_facts; delete from payfold.invitation; delete from payfold.invitation_attempt; delete from payfold.invitation_pause`)
		b := &both{world: w, model: newModel(), records: records{w.tables, testenv.GitHubRepository, w.clock.Now, defaultTimeout}}
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			w.clock.Advance(time.Duration(rapid.SampledFrom([]int{1, 1, 7, 20, 3600, 25 * 3600}).Draw(rt, "seconds")) * time.Second)
			if rapid.IntRange(0, 19).Draw(rt, "without a repository") == 0 {
				b.records.repository = ""
			}
			if rapid.IntRange(0, 2).Draw(rt, "payments change") == 0 {
				b.change(rt)
			} else {
				b.step(rt)
			}
			b.records.repository = testenv.GitHubRepository
			b.requireSame(rt)
		}
	})
}
