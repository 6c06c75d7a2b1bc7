package live_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/live"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/providers"
	"github.com/payfold/payfold/internal/rebuild"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/fixture"
	"github.com/payfold/payfold/internal/testenv/wait"
)

func TestABatchWritesRowsAndCheckpointTogether(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	digest := []byte("digest")
	_, err := live.Apply(ctx, s, fixture.AnyMode, []events.Event{fixture.Event(t, 1, fixture.Pack("e1", "p1", "u1", 200))},
		store.Advance{LogID: "log-1", From: fixture.From(2, 0), To: 1, Digest: digest})
	require.NoError(t, err)

	require.Equal(t, int64(200), fixture.Number(ctx, t, s, "select balance from credits where user_id = 'u1'"))
	checkpoints, err := s.Checkpoints(ctx)
	require.NoError(t, err)
	require.Equal(t, store.Checkpoint{Partition: 2, Position: 1, Digest: digest, LogID: "log-1"}, checkpoints[2])
	require.Equal(t, store.Checkpoint{Partition: 1, LogID: "log-1"}, checkpoints[1])
}

// A restored log has a mark for each lost message. The mark of an applied message can be in a
// partition whose position is before it.
func TestAMarkOfAnAppliedMessageIsPassedOver(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	applied := []events.Event{
		fixture.Event(t, 1, fixture.Pack("e1", "p1", "u1", 200)),
		fixture.Event(t, 2, fixture.Pack("e1", "p1", "u1", 200)),
	}
	_, err := live.Apply(ctx, s, fixture.AnyMode, applied, store.Advance{LogID: "log-1", From: fixture.From(2, 0), To: 2})
	require.NoError(t, err)

	mark := func(seq uint64) events.Event {
		id, body := events.Lost(seq)
		return providers.Decode(events.Message{Provider: events.OwnEvents, Seq: seq, ID: id, Body: body, ReceivedAt: time.Unix(1767348000, 0)})
	}
	_, err = live.Apply(ctx, s, fixture.AnyMode, []events.Event{mark(1), mark(2)}, store.Advance{LogID: "log-1", From: fixture.From(0, 0), To: 2})
	require.NoError(t, err)
	again := fixture.Event(t, 4, fixture.Pack("e2", "p2", "u1", 50))
	result, err := live.Apply(ctx, s, fixture.AnyMode, []events.Event{mark(2), mark(3), again}, store.Advance{LogID: "log-1", From: fixture.From(1, 0), To: 4})
	require.NoError(t, err)
	require.Len(t, result.Events, 2)
	require.Equal(t, int64(250), fixture.Number(ctx, t, s, "select balance from credits where user_id = 'u1'"))
	require.Equal(t, int64(1), fixture.Number(ctx, t, s, "select count(*) from processed_event where event_id = 'lost:3' and stream_seq = 3"))
	require.Equal(t, int64(3), fixture.Number(ctx, t, s, "select count(*) from processed_event"))
}

func TestAZombieChangesNothing(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	batch := []events.Event{fixture.Event(t, 1, fixture.Pack("e1", "p1", "u1", 200))}
	_, err := live.Apply(ctx, s, fixture.AnyMode, batch, store.Advance{LogID: "log-1", From: fixture.From(0, 0), To: 1})
	require.NoError(t, err)

	_, err = live.Apply(ctx, s, fixture.AnyMode, []events.Event{fixture.Event(t, 1, fixture.Pack("other", "p2", "u1", 7))},
		store.Advance{LogID: "log-1", From: map[int]uint64{0: 0, 1: 0}, To: 1})
	require.ErrorIs(t, err, store.ErrFenced)
	require.Equal(t, int64(200), fixture.Number(ctx, t, s, "select sum(delta)::bigint from credit_ledger"))
	require.Equal(t, int64(0), fixture.Number(ctx, t, s, "select position from checkpoint where partition = 1"))
}

func TestOtherRulesWriteNothing(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	liveMode := projections.Rules{Mode: projections.ModeLive}
	_, err := live.Apply(ctx, s, liveMode, nil, store.Advance{LogID: "log-1", From: fixture.From(0, 0), To: 1})
	require.ErrorIs(t, err, store.ErrFoldID)
	require.ErrorIs(t, s.Prepare(ctx, "log-1", fixture.Partitions, liveMode), store.ErrFoldID)
	require.ErrorIs(t, s.Prepare(ctx, "log-2", fixture.Partitions, fixture.AnyMode), store.ErrOtherLog)
}

func TestManyProjectorsMayPrepareAtOnce(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	_, err := s.Pool().Exec(ctx, "drop schema portal cascade; drop schema payfold cascade; drop schema wallet cascade")
	require.NoError(t, err)
	var group sync.WaitGroup
	for range 4 {
		other, err := store.Open(ctx, store.Config{DSN: s.Pool().Config().ConnString(), Owner: "other", LeaseTime: time.Minute, ConnectTimeout: wait.Timeout})
		require.NoError(t, err)
		defer other.Close()
		group.Go(func() {
			require.NoError(t, other.Prepare(ctx, "log-1", fixture.Partitions, fixture.AnyMode))
		})
	}
	group.Wait()
}

// Two transactions cannot lock a row that does not exist yet. Both load before one of them
// writes.
func TestTwoPartitionsMayInsertTheSameRow(t *testing.T) {
	t.Parallel()
	for name, race := range map[string]struct {
		a, b  string
		check string
		want  int64
	}{
		"two claims of one payment grant once": {
			fixture.Pack("e1", "p1", "u1", 200), fixture.Pack("e2", "p1", "u1", 200),
			"select balance from credits where user_id = 'u1'", 200,
		},
		"two first events of one user both count": {
			fixture.Pack("e1", "p1", "u1", 200), fixture.Pack("e2", "p2", "u1", 50),
			"select balance from credits where user_id = 'u1'", 250,
		},
		"one event id in two partitions takes effect once": {
			fixture.Pack("e1", "p1", "u1", 200), fixture.Pack("e1", "p2", "u1", 50),
			"select (select count(*) from processed_event) * 10 + (select count(*) from duplicate_event)", 11,
		},
		"an order and its transaction are one payment": {
			`{"id":"e1","eventType":"checkout.completed","object":{"order":{"id":"o1"},"metadata":{"kind":"one_time","user_id":"u1","credits":5}}}`,
			`{"id":"e2","eventType":"checkout.completed","object":{"order":{"id":"o1","transaction":"t1"},"metadata":{"kind":"one_time","user_id":"u1","credits":5}}}`,
			"select balance from credits where user_id = 'u1'", 5,
		},
		"a payment and its refund end at nothing": {
			fixture.Pack("e1", "p1", "u1", 200),
			`{"id":"e2","eventType":"refund.created","object":{"status":"succeeded","refund_amount":5,"transaction":{"id":"p1","amount_paid":5,"refunded_amount":5}}}`,
			"select balance from credits where user_id = 'u1'", 0,
		},
		"a payment by its order and a refund by both names end at nothing": {
			`{"id":"e1","eventType":"checkout.completed","object":{"order":{"id":"o1","amount_paid":5},"metadata":{"kind":"one_time","user_id":"u1","credits":9}}}`,
			`{"id":"e2","eventType":"refund.created","object":{"status":"succeeded","refund_amount":5,"transaction":{"id":"t1","order":"o1","amount_paid":5,"refunded_amount":5}}}`,
			"select balance from credits where user_id = 'u1'", 0,
		},
		"a licence and its refund end revoked": {
			`{"id":"e1","eventType":"checkout.completed","object":{"order":{"id":"o1","transaction":"t1"},"metadata":{"kind":"pro","user_id":"u1"}}}`,
			`{"id":"e2","eventType":"dispute.created","object":{"transaction":{"id":"t1"}}}`,
			"select count(*) from pro_license where status = 'revoked'", 1,
		},
		"the user comes apart from the payment": {
			`{"id":"e1","eventType":"subscription.paid","object":{"id":"s1","last_transaction_id":"t1","credits":9}}`,
			`{"id":"e2","eventType":"checkout.completed","object":{"subscription":"s1","metadata":{"kind":"subscription","user_id":"u1"}}}`,
			"select sum(delta)::bigint from credit_ledger where user_id = 'u1'", 9,
		},
		"two subscriptions of one new user: the later one shows": {
			`{"id":"e1","eventType":"subscription.paid","created_at":1767340000000,"object":{"id":"s1","last_transaction_id":"t1","metadata":{"user_id":"u1"}}}`,
			`{"id":"e2","eventType":"subscription.paid","created_at":1767341000000,"object":{"id":"s2","last_transaction_id":"t2","metadata":{"user_id":"u1"}}}`,
			"select count(*) from subscription where subscription_id = 's2'", 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, s := fixture.Tables(t)
			var loaded, written sync.WaitGroup
			loaded.Add(2)
			var first [2]sync.Once
			for i, body := range []string{race.a, race.b} {
				written.Go(func() {
					e := fixture.Event(t, uint64(i+1), body)
					for {
						advance := store.Advance{LogID: "log-1", From: fixture.From(i, 0), To: e.Seq}
						err := applyWith(ctx, s, fixture.AnyMode, e, advance, func() {
							first[i].Do(func() { loaded.Done(); loaded.Wait() })
						})
						if !store.IsConflict(err) {
							require.NoError(t, err)
							return
						}
					}
				})
			}
			written.Wait()
			require.Equal(t, race.want, fixture.Number(ctx, t, s, race.check))
		})
	}
}

// applyWith is one try of live.Apply. It calls loaded when it has loaded the rows.
func applyWith(ctx context.Context, s *store.Store, rules projections.Rules, e events.Event, advance store.Advance, loaded func()) error {
	transaction, err := live.Begin(ctx, s, rules, advance)
	if err != nil {
		return err
	}
	defer transaction.End(ctx)
	state, err := tables.Load(ctx, transaction.Tx(), store.LiveSchema, rules, []events.Event{e})
	if err != nil {
		return err
	}
	loaded()
	writes, _, err := live.Fold(s, rules, state, []events.Event{e})
	if err != nil {
		return err
	}
	return transaction.Commit(ctx, writes)
}

func TestTheTablesHoldEveryValueThatABodyCanHold(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	long := strings.Repeat("é", 126) // 252 bytes
	bodies := []string{
		`{"id":"\u0000","eventType":"\u0000","object":{}}`,
		`{"id":"e1","eventType":"checkout.completed","object":{"provider_payment_id":"a\u0000","metadata":{"kind":"pro","user_id":"u"}}}`,
		`{"id":"e2","eventType":"checkout.completed","object":{"provider_payment_id":"\udc00","metadata":{"kind":"pro","user_id":"u"}}}`,
		`{"id":"e3","eventType":"checkout.completed","object":{"provider_payment_id":"p3","amount":1e400,"metadata":{"kind":"pro","user_id":"u"}}}`,
		`{"id":"e4","eventType":"checkout.completed","object":{"provider_payment_id":"p4","metadata":{"kind":"one_time","user_id":"u","credits":99999999999999999999}}}`,
		`{"id":"e5","eventType":"checkout.completed","object":{"provider_payment_id":"p5","units":1000001,"metadata":{"kind":"one_time","user_id":"u","credits":1000000}}}`,
		`{"id":"e6","eventType":"subscription.paid","object":{"id":"` + long + `","last_transaction_id":"` + long + `","current_period_end":"9999-12-31T23:59:59Z",` +
			`"order":"` + long + `","product":"` + long + `","metadata":{"user_id":"` + long + `"}}}`,
		`{"id":"e7","eventType":"checkout.completed","object":{"metadata":{"kind":"subscription","user_id":"` + long + `","provider_payment_id":"p7"}}}`,
		fixture.Pack("e8", "p8", "u8", 1),
		`{"id":"e9","eventType":"checkout.completed","object":{"order":"p8","metadata":{"kind":"one_time","user_id":"u8","credits":5}}}`,
		`{"id":"e10","eventType":"checkout.completed","object":{"order":"o10","metadata":{"kind":"one_time","user_id":"u8","credits":5}}}`,
		fixture.Pack("e11", "o10", "u8", 3),
		fixture.Pro("e12", "p12", "u12", "github.com/%00"),
		fixture.Pro("e13", "p13", "u13", "https://github.com/%ff"),
		fixture.Pro("e14", "p14", "u14", `\u0000\ud800`),
	}
	batch := make([]events.Event, len(bodies))
	for i, body := range bodies {
		batch[i] = fixture.Event(t, uint64(i+1), body)
	}
	batch = append(batch, providers.Decode(events.Message{Seq: 99, Body: []byte("garbage"), ReceivedAt: time.Unix(1767348000, 0)}))
	result, err := live.Apply(ctx, s, fixture.AnyMode, batch, store.Advance{LogID: "log-1", From: fixture.From(0, 0), To: 99})
	require.NoError(t, err)
	var got []string
	for _, e := range result.Events {
		got = append(got, e.Outcome+" "+e.Reason)
	}
	require.Equal(t, []string{
		"ignored ", "rejected invalid_text", "rejected invalid_text", "applied ", "rejected out_of_range",
		"rejected out_of_range", "applied ", "applied ", "applied ", "duplicate_payment ", "applied ", "duplicate_payment ",
		"applied ", "applied ", "applied ", "rejected invalid_text",
	}, got)
	require.Equal(t, int64(4), fixture.Number(ctx, t, s, "select balance from credits where user_id = 'u8'"))
}

// Three projectors apply the three events of a first payment at the same moment.
func TestTheEventsOfAFirstPaymentMayBeAppliedConcurrently(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	for sale := range uint64(25) {
		var group errgroup.Group
		for i, body := range []string{
			`{"id":"c%d","eventType":"checkout.completed","object":{"order":{"id":"o%[1]d","transaction":"t%[1]d","amount_paid":12,"currency":"EUR"},
				"subscription":"s%[1]d","metadata":{"kind":"subscription","user_id":"u%[1]d","credits":100}}}`,
			`{"id":"a%d","eventType":"subscription.active","object":{"id":"s%[1]d","last_transaction_id":"t%[1]d","metadata":{"user_id":"u%[1]d"}}}`,
			`{"id":"p%d","eventType":"subscription.paid","object":{"id":"s%[1]d","last_transaction_id":"t%[1]d","metadata":{"user_id":"u%[1]d","credits":100}}}`,
		} {
			seq, before := 3*sale+uint64(i)+1, uint64(0)
			if sale > 0 {
				before = seq - 3
			}
			e := fixture.Event(t, seq, fmt.Sprintf(body, sale))
			group.Go(func() error {
				_, err := live.Apply(ctx, s, fixture.AnyMode, []events.Event{e}, store.Advance{LogID: "log-1", From: fixture.From(i, before), To: seq})
				return err
			})
		}
		require.NoError(t, group.Wait())
	}
	for rule, sql := range map[string]string{
		"one grant":        "select count(*) from credit_ledger where entry = 'grant' and delta = 100",
		"one payment":      "select count(*) from payment where transaction_id = 't' || substr(user_id, 2) and order_id = 'o' || substr(user_id, 2) and amount = 12",
		"one subscription": "select count(*) from subscription where status = 'active' and subscription_id = 's' || substr(user_id, 2) and provider_payment_id = 't' || substr(user_id, 2)",
	} {
		require.EqualValues(t, 25, fixture.Number(ctx, t, s, sql), rule)
	}
	require.EqualValues(t, 75, fixture.Number(ctx, t, s, "select (select count(*) from credit_ledger) + (select count(*) from payment) + (select count(*) from subscription)"))
}

// A unique index that an operator has made is violated each time.
func TestAConflictThatNeverEndsIsARefusal(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	_, err := s.Pool().Exec(ctx, "create unique index theirs on credits (balance)")
	require.NoError(t, err)
	batch := []events.Event{fixture.Event(t, 1, fixture.Pack("e1", "p1", "u1", 1)), fixture.Event(t, 2, fixture.Pack("e2", "p2", "u2", 1))}
	_, err = live.Apply(ctx, s, fixture.AnyMode, batch, store.Advance{LogID: "log-1", From: fixture.From(0, 0), To: 2})
	require.ErrorAs(t, err, new(*store.RefusedError))
}

// Postgres cannot commit a notification while its queue is full, because a listening session of any database does not
// end its transaction. Then it could commit the rejection, which notifies nobody.
func TestANotificationThatPostgresCannotCommitRefusesNoEvent(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	_, err := s.Pool().Exec(ctx, `create function public.full_queue() returns trigger language plpgsql as
		$$ begin raise exception 'too many notifications in the NOTIFY queue' using errcode = 'program_limit_exceeded'; end $$;
		create constraint trigger full_queue after insert on payment_facts deferrable initially deferred for each row execute function public.full_queue()`)
	require.NoError(t, err)
	batch := []events.Event{fixture.Event(t, 1, fixture.Pro("e1", "p1", "u1", "octocat"))}
	_, err = live.Apply(ctx, s, fixture.AnyMode, batch, store.Advance{LogID: "log-1", From: fixture.From(0, 0), To: 1})
	require.ErrorContains(t, err, "too many notifications in the NOTIFY queue")
	require.False(t, errors.As(err, new(*store.RefusedError)), "the event is not the cause")
	require.Zero(t, fixture.Number(ctx, t, s, "select position from checkpoint where partition = 0"))
}

// A rebuild records a refused event with the rows of the others.
func TestARebuildRecordsARefusedEventWithItsRejection(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	next, err := s.OpenSchema(ctx, "portal_next")
	require.NoError(t, err)
	defer next.Close()
	require.NoError(t, next.Prepare(ctx, "log-1", fixture.Partitions, fixture.AnyMode))
	_, err = next.Pool().Exec(ctx, "alter table processed_event add constraint unforeseen check (stream_seq <> 1 or outcome = 'rejected')")
	require.NoError(t, err)
	log := fixture.TapeOf(fixture.Pack("e1", "p1", "u1", 5), fixture.Pack("e2", "p2", "u1", 7))
	fold := rebuild.Rebuild{Log: log, Store: next, Rules: fixture.AnyMode, Logger: testenv.Logger(t), Progress: func(_, _ uint64) {}}
	require.NoError(t, fold.Run(ctx, 2))
	require.EqualValues(t, 7, fixture.Number(ctx, t, next, "select balance from credits"))
	require.EqualValues(t, 1, fixture.Number(ctx, t, s, "select stream_seq from payfold.quarantined_event"))
}
