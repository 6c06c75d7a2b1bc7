package browse

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/invitations"
	"github.com/payfold/payfold/internal/lag"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

// headOnly is a log of which only the head is asked, and what follows the head.
type headOnly struct {
	lag.Log
	head  uint64
	fault error
}

func (l headOnly) Info(context.Context) (eventlog.Info, error) {
	return eventlog.Info{LogID: "log-1", First: 1, Last: l.head, Partitions: fixture.Partitions}, l.fault
}

func (l headOnly) Message(context.Context, uint64) (events.Message, error) {
	return events.Message{}, errors.New("not asked")
}

func (l headOnly) ReadUntil(context.Context, uint64, uint64, func(events.Message) error) error {
	return l.fault
}

func TestInvitationsAreListedPageByPage(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	_, err := s.Pool().Exec(ctx, `insert into payfold.invitation (user_id, repository, provider_payment_id, status, reason, activated_at, due_at, changed_at)
		select 'u' || i / 2, 'a/b', 'p' || i, case when i = 3 then 'failed' else 'pending' end, case when i = 3 then 'no such user' end, now(), now(), now() from generate_series(1, 5) i;
		insert into payfold.invitation_pause values ('a/b', now() + interval '1 hour', 'limit', 'slow down'), ('a/c', now() - interval '1 hour', 'limit', 'slow down')`)
	require.NoError(t, err)
	var payments []string
	for after := new(invitations.Key); after != nil; {
		page, err := Invitations(ctx, s, *after, "", 2)
		require.NoError(t, err)
		require.Len(t, page.Pauses, 1)
		for _, one := range page.Items {
			payments = append(payments, one.PaymentID)
		}
		after = page.Next
	}
	require.Equal(t, []string{"p1", "p2", "p3", "p4", "p5"}, payments)
	failed, err := Invitations(ctx, s, invitations.Key{}, "failed", 10)
	require.NoError(t, err)
	require.Len(t, failed.Items, 1)
	require.Equal(t, "no such user", failed.Items[0].Waits)
	require.Nil(t, failed.Next)
}

func TestSchemasSayHowFarTheyHaveToGo(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t, packs(3)...)
	fixture.Candidate(ctx, t, s, 1)
	past, err := s.OpenSchema(ctx, "past")
	require.NoError(t, err)
	defer past.Close()
	require.NoError(t, past.PrepareAsOf(ctx, "log-1", fixture.Partitions, fixture.AnyMode, 2))
	got, err := Health(ctx, headOnly{head: 3}, s)
	require.NoError(t, err)
	for i, want := range []struct {
		name     string
		position int64
		goal     int64
	}{{"past", 0, 2}, {"portal", 3, 3}, {"portal_next", 1, 3}} {
		schema := got.Database.Schemas[i]
		require.Equal(t, want.name, schema.Name)
		require.Equal(t, want.position, schema.Position)
		require.Equal(t, want.goal, *got.Goal(schema))
	}
	got, err = Health(ctx, headOnly{fault: errors.New("away")}, s)
	require.NoError(t, err)
	require.Equal(t, "away", got.LogFault)
	require.Nil(t, got.Goal(got.Database.Schemas[1]))
	require.NotNil(t, got.Goal(got.Database.Schemas[0]))

	_, err = s.Pool().Exec(ctx, "update payfold.schema_state set log_id = 'lost' where schema_name = 'portal_next'")
	require.NoError(t, err)
	got, err = Health(ctx, headOnly{head: 3}, s)
	require.NoError(t, err)
	require.Nil(t, got.Goal(got.Database.Schemas[2]), "its log is another one")
}

func TestTheWorkIsShownWithoutCountingEvents(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t, packs(3)...)
	got, err := Health(ctx, headOnly{head: 3, fault: errors.New("away")}, s)
	require.NoError(t, err)
	require.Len(t, got.Partitions, fixture.Partitions)
	require.EqualValues(t, 3, got.Partitions[0].Position)
	require.Nil(t, got.Database.EventCounts)
	require.Equal(t, "away", got.LogFault)
	require.EqualValues(t, 3, got.Position)
}
