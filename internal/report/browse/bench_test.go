package browse

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/invitations"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/rebuild"
	"github.com/payfold/payfold/internal/report"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

// BenchmarkBrowse measures each query on tables as a rebuild --until leaves them, of EVENTS events
// of a shop, and prints the median and the maximum of its times.
func BenchmarkBrowse(b *testing.B) {
	count := 1_000_000
	if text := os.Getenv("EVENTS"); text != "" {
		var err error
		count, err = strconv.Atoi(text)
		require.NoError(b, err)
	}
	ctx := b.Context()
	s := builtTables(ctx, b, count)
	counter := NewCounter(testenv.Logger(b))
	background := measureBackground(ctx, b, counter, s)
	fmt.Printf("\n%d events, milliseconds: median, maximum\n\n", count)
	for _, q := range benchQueries(s, counter, int64(count)) {
		var times []time.Duration
		for range 50 {
			began := time.Now()
			require.NoError(b, q.run(ctx), q.name)
			times = append(times, time.Since(began))
		}
		slices.Sort(times)
		fmt.Printf("%-46s %8.1f %8.1f\n", q.name, milliseconds(times[len(times)/2]), milliseconds(times[len(times)-1]))
	}
	fmt.Println(background)
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// builtTables returns tables that are folded in bulk.
func builtTables(ctx context.Context, b *testing.B, count int) *store.Store {
	s, err := store.Open(ctx, store.Config{DSN: testenv.Database(b), Schema: "past", Owner: "bench"})
	require.NoError(b, err)
	b.Cleanup(s.Close)
	rules := projections.Rules{Mode: projections.ModeAny}
	require.NoError(b, s.PrepareAsOf(ctx, "log-1", fixture.Partitions, rules, uint64(count)))
	bulk, err := rebuild.NewBulk(ctx, s, rules, uint64(count), nil)
	require.NoError(b, err)
	defer bulk.Close()
	const batch = 1000
	for begin := 0; begin < count; begin += batch {
		var part []events.Event
		for i := begin; i < min(begin+batch, count); i++ {
			at := received.Add(time.Duration(i) * 7 * time.Second)
			part = append(part, events.Decode(events.Message{Seq: uint64(i + 1), Body: []byte(benchEvent(i)), ReceivedAt: at}))
		}
		require.NoError(b, bulk.Fold(ctx, part))
		if bulk.Full() || begin+batch >= count {
			require.NoError(b, bulk.Save(ctx, part[len(part)-1].Seq, nil))
		}
	}
	require.NoError(b, bulk.Finish(ctx, true))
	return s
}

// benchEvent is an event of a shop; of a thousand one is rejected, ten are of one user, and one of
// another.
func benchEvent(i int) string {
	switch {
	case i%1000 == 500:
		return fmt.Sprintf(`{"id":"r%d","eventType":"checkout.completed","object":{"order":"rejected%[1]d","metadata":{"kind":"one_time"}}}`, i)
	case i%1000 == 250:
		return fixture.Pack(fmt.Sprintf("m%d", i), fmt.Sprintf("m%d", i), "often", 1)
	case i%100 == 50:
		return fixture.Pack(fmt.Sprintf("h%d", i), fmt.Sprintf("h%d", i), "heavy", 1)
	}
	return testenv.ShopEvent(i)
}

type benchQuery struct {
	name string
	run  func(context.Context) error
}

func benchQueries(s *store.Store, c *Counter, count int64) []benchQuery {
	anywhere := func() int64 { return rand.Int64N(count) + 1 }
	list := func(name string, filter func() Filter) benchQuery {
		return benchQuery{"events: " + name, func(ctx context.Context) error {
			_, err := Events(ctx, s, filter(), 100)
			return err
		}}
	}
	one := func(name string, run func(ctx context.Context, i int64) error) benchQuery {
		return benchQuery{name, func(ctx context.Context) error { return run(ctx, anywhere()) }}
	}
	return []benchQuery{
		list("newest", func() Filter { return Filter{} }),
		list("somewhere", func() Filter { return Filter{Before: anywhere()} }),
		list("a common type", func() Filter { return Filter{Type: "checkout.*", Before: anywhere()} }),
		list("a rare reason", func() Filter { return Filter{Reason: "missing_user", Before: anywhere()} }),
		list("nothing found", func() Filter { return Filter{Type: "no such type", Before: anywhere()} }),
		list("an hour", func() Filter {
			from := received.Add(time.Duration(anywhere()) * 7 * time.Second)
			return Filter{From: from, To: from.Add(time.Hour)}
		}),
		list("rejected in a month", func() Filter {
			from := received.Add(time.Duration(anywhere()) * 7 * time.Second)
			return Filter{From: from, To: from.AddDate(0, 1, 0), Outcome: "rejected"}
		}),
		list("a user", func() Filter { return Filter{User: fmt.Sprint("user_", anywhere()/10)} }),
		list("a user with a hundredth of all", func() Filter { return Filter{User: "heavy", Before: anywhere()} }),
		list("of that user, nothing found", func() Filter { return Filter{User: "heavy", Type: "no such type", Before: anywhere()} }),
		list("a payment", func() Filter { return Filter{Payment: fmt.Sprintf("tran_once_%d", anywhere()/10*10+3)} }),
		list("a subscription", func() Filter { return Filter{Subscription: fmt.Sprint("sub_", anywhere()/10)} }),
		one("payment", func(ctx context.Context, i int64) error {
			_, err := Payment(ctx, s, fmt.Sprintf("ord_once_%d", max(i/10-1, 0)*10+3), 100)
			return err
		}),
		one("subscription", func(ctx context.Context, i int64) error {
			_, err := Subscription(ctx, s, fmt.Sprint("sub_", (i-1)/10), 100)
			return err
		}),
		one("customer", func(ctx context.Context, i int64) error {
			_, err := report.Explain(ctx, nil, s, report.Question{User: fmt.Sprint("user_", (i-1)/10), Limit: 100})
			return err
		}),
		one("customer with a thousandth of all", func(ctx context.Context, _ int64) error {
			_, err := report.Explain(ctx, nil, s, report.Question{User: "often", Limit: 100})
			return err
		}),
		one("customer with a hundredth of all", func(ctx context.Context, _ int64) error {
			_, err := report.Explain(ctx, nil, s, report.Question{User: "heavy", Limit: 100})
			return err
		}),
		one("event", func(ctx context.Context, i int64) error {
			_, err := report.Explain(ctx, headOnly{fault: context.Canceled}, s, report.Question{Seq: uint64(i), Limit: 100})
			return err
		}),
		one("overview", func(ctx context.Context, _ int64) error {
			_, err := c.Overview(ctx, headOnly{head: uint64(count), fault: context.Canceled}, s, 10)
			return err
		}),
		one("search: nothing", func(ctx context.Context, i int64) error { _, err := Search(ctx, s, fmt.Sprint("x", i)); return err }),
		one("search: a seq", func(ctx context.Context, i int64) error { _, err := Search(ctx, s, fmt.Sprint(i)); return err }),
		one("search: that user", func(ctx context.Context, _ int64) error { _, err := Search(ctx, s, "heavy"); return err }),
		one("totals", func(ctx context.Context, _ int64) error { _, err := c.Totals(ctx, s); return err }),
		one("rejected", func(ctx context.Context, _ int64) error { _, err := c.Rejected(ctx, s); return err }),
		one("revenue, added up", func(ctx context.Context, _ int64) error { _, err := c.Revenue(ctx, s, 30); return err }),
		one("projectors", func(ctx context.Context, _ int64) error {
			_, err := Projectors(ctx, headOnly{head: uint64(count), fault: context.Canceled}, s)
			return err
		}),
		one("schemas", func(ctx context.Context, _ int64) error {
			_, err := Schemas(ctx, headOnly{head: uint64(count)}, s)
			return err
		}),
		one("invitations", func(ctx context.Context, _ int64) error {
			_, err := Invitations(ctx, s, invitations.Key{}, "", 100)
			return err
		}),
	}
}

// measureBackground lets the counter count everything once, and says how long that took.
func measureBackground(ctx context.Context, b *testing.B, c *Counter, s *store.Store) string {
	began := time.Now()
	require.NoError(b, c.countAll(ctx, s))
	counted := time.Since(began)
	began = time.Now()
	require.NoError(b, c.addUp(ctx, s))
	return fmt.Sprintf("\nin the background: all events counted in %.1f s, half of them idle; revenue added up in %.1f s\n", counted.Seconds(), time.Since(began).Seconds())
}
