package browse

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/live"
	"github.com/payfold/payfold/internal/providers"
	"github.com/payfold/payfold/internal/report/explain"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

func TestMain(m *testing.M) { os.Exit(fixture.RunProperties(m)) }

// received is when ingest received the first event. The others follow every minute.
var received = time.Date(2021, 3, 1, 12, 0, 0, 0, time.UTC)

// setup returns live tables of these bodies, whose sequences begin at 1.
func setup(t *testing.T, bodies ...string) (context.Context, *store.Store) {
	t.Helper()
	ctx, s := fixture.Tables(t)
	apply(ctx, t, s, 0, bodies...)
	return ctx, s
}

// apply folds bodies that follow the message at seq after.
func apply(ctx context.Context, t *testing.T, s *store.Store, after uint64, bodies ...string) {
	t.Helper()
	if len(bodies) == 0 {
		return
	}
	var batch []events.Event
	for i, body := range bodies {
		seq := after + uint64(i) + 1
		batch = append(batch, providers.Decode(events.Message{Provider: "provider", Seq: seq, Body: []byte(body), ReceivedAt: receivedAt(int64(seq))}))
	}
	from := map[int]uint64{}
	for partition := range fixture.Partitions {
		from[partition] = after
	}
	_, err := live.Apply(ctx, s, fixture.AnyMode, batch, store.Advance{LogID: "log-1", From: from, To: after + uint64(len(bodies))})
	require.NoError(t, err)
}

// running returns measures of a shop in UTC that are computed until the test ends.
func running(ctx context.Context, t *testing.T) *Measures {
	t.Helper()
	measures := NewMeasures(time.UTC, func() {})
	ctx, stop := context.WithCancel(ctx)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		measures.Run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-stopped
	})
	return measures
}

func receivedAt(seq int64) time.Time { return received.Add(time.Duration(seq-1) * time.Minute) }

// packs are bodies of count events, of which each sells u1 a pack.
func packs(count int) (bodies []string) {
	for i := range count {
		bodies = append(bodies, fixture.Pack(fmt.Sprintf("e%d", i+1), fmt.Sprintf("p%d", i+1), "u1", 1))
	}
	return bodies
}

// shop is a customer's history of every kind.
var shop = []string{
	`{"id":"e1","eventType":"checkout.completed","object":{"order":{"id":"o1"},"metadata":{"kind":"one_time","user_id":"u1","credits":100}}}`,
	`{"id":"e2","eventType":"checkout.completed","object":{"order":{"id":"o1","transaction":"t1"},"metadata":{"kind":"one_time","user_id":"u1","credits":100}}}`,
	`{"id":"e3","eventType":"refund.created","object":{"refund_amount":25,"transaction":{"id":"t1","amount_paid":100}}}`,
	`{"id":"e4","eventType":"subscription.paid","object":{"id":"s1","last_transaction_id":"t4","metadata":{"credits":10,"user_id":"u1"}}}`,
	fixture.Pack("e1", "x", "u9", 7),
	fixture.Pack("e6", "t1", "thief", 7),
	`{"id":"e7","eventType":"checkout.completed","object":{"order":"o7","metadata":{"kind":"one_time"}}}`,
	fixture.Pro("e8", "t8", "u2", "Octo-Cat"),
	`{"id":"e9","eventType":"customer.created","object":{}}`,
	`{"id":"e10","eventType":"subscription.canceled","object":{"id":"s1"}}`,
	`{"id":"e11","eventType":"checkout.completed","object":{"transaction":"t11","metadata":{"kind":"subscription","user_id":"u3","credits":5}}}`,
	`{"id":"e12","eventType":"checkout.completed","object":{"transaction":"t12","metadata":{"kind":"other","user_id":"u1"}}}`,
}

func ids(list []explain.WithWhy) []string {
	out := []string{}
	for _, e := range list {
		out = append(out, e.EventID)
	}
	return out
}

// figuresOf reads the figures of a day that began then.
func figuresOf(ctx context.Context, s *store.Store, today time.Time) (Figures, error) {
	return viewEvents(ctx, s, func(ctx context.Context, tx pgx.Tx, now Moment) (Figures, error) {
		return readFigures(ctx, tx, now, today.AddDate(0, 0, -1), today)
	})
}
