package console_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/console"
	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/rebuild"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

// BenchmarkConsole measures each page, as a browser gets it, on tables as a rebuild --until leaves
// them, of EVENTS events of a shop. It prints the median and the maximum of the times.
func BenchmarkConsole(b *testing.B) {
	count := testenv.Number(b, "EVENTS", 1_000_000)
	tables := builtTables(b.Context(), b, count)
	server := run(b, console.Config{Log: silent{}, Tables: tables, Guard: everybody{}, Version: "bench", Logger: testenv.Logger(b)})
	fmt.Printf("\n%d events, milliseconds: median, maximum; kilobytes of HTML\n\n", count)
	for _, p := range benchPages(count) {
		var times []time.Duration
		bytes := 0
		for range 50 {
			path := p.path()
			began := time.Now()
			bytes = max(bytes, len(read(b, server+path)))
			times = append(times, time.Since(began))
		}
		slices.Sort(times)
		fmt.Printf("%-46s %8.1f %8.1f %6d\n", p.name, milliseconds(times[len(times)/2]), milliseconds(times[len(times)-1]), bytes/1000)
	}
}

func read(b *testing.B, address string) string {
	answer, err := http.Get(address)
	require.NoError(b, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(b, err)
	require.Equal(b, http.StatusOK, answer.StatusCode, "%s\n%s", address, text)
	return string(text)
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// silent is a log that cannot be reached.
type silent struct{ console.Log }

var errSilent = errors.New("the benchmark has no log")

func (silent) Info(context.Context) (eventlog.Info, error) { return eventlog.Info{}, errSilent }

func (silent) Message(context.Context, uint64) (events.Message, error) {
	return events.Message{}, errSilent
}

// builtTables returns tables that are folded in bulk.
func builtTables(ctx context.Context, b *testing.B, count int) *store.Store {
	s, err := store.Open(ctx, store.Config{DSN: testenv.Database(b), Schema: "past", Owner: "bench"})
	require.NoError(b, err)
	b.Cleanup(s.Close)
	rules := projections.Rules{Mode: projections.ModeAny}
	require.NoError(b, s.PrepareAsOf(ctx, "log-1", fixture.Partitions, rules, uint64(count)))
	fold := rebuild.Rebuild{Log: benchLog(count), Store: s, Rules: rules, Logger: testenv.Logger(b), Progress: func(_, _ uint64) {}, Stage: tables.InUse}
	require.NoError(b, fold.Run(ctx, uint64(count)))
	require.NoError(b, s.Analyze(ctx))
	return s
}

// benchLog is a log of so many events, each made when it is read: ten million do not fit in memory.
type benchLog int

func (l benchLog) Info(context.Context) (eventlog.Info, error) {
	return eventlog.Info{LogID: "log-1", First: 1, Last: uint64(l), Partitions: fixture.Partitions}, nil
}

func (l benchLog) Message(_ context.Context, seq uint64) (events.Message, error) {
	received := receivedAt(int(seq)-1, int(l))
	body := madeAt.ReplaceAllString(benchEvent(int(seq)-1), fmt.Sprintf(`"created_at":%d,"object"`, received.UnixMilli()))
	return events.Message{Provider: "provider", Seq: seq, Body: []byte(body), ReceivedAt: received}, nil
}

func (l benchLog) ReadUntil(ctx context.Context, from, until uint64, deliver func(events.Message) error) error {
	for seq := from; seq <= until; seq++ {
		message, _ := l.Message(ctx, seq)
		if err := deliver(message); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (l benchLog) StoredBy(context.Context, eventlog.Info, time.Time) (uint64, error) {
	return uint64(l), nil
}

// newestAt is when ingest received the newest event: a day has 12,000.
var newestAt = time.Now().UTC().Truncate(time.Second)

func receivedAt(i, count int) time.Time {
	return newestAt.Add(time.Duration(i-count) * 7 * time.Second)
}

// madeAt is the provider's time in a body.
var madeAt = regexp.MustCompile(`"created_at":\d+,"object"`)

// benchEvent is an event of a shop; of a thousand one is rejected, one is of one user, ten are of
// another, and a hundred of a third.
func benchEvent(i int) string {
	switch {
	case i%1000 == 500:
		return fmt.Sprintf(`{"id":"r%d","eventType":"checkout.completed","object":{"order":"rejected%[1]d","metadata":{"kind":"one_time"}}}`, i)
	case i%1000 == 250:
		return fixture.Pack(fmt.Sprintf("m%d", i), fmt.Sprintf("m%d", i), "often", 1)
	case i%100 == 50:
		return fixture.Pack(fmt.Sprintf("h%d", i), fmt.Sprintf("h%d", i), "heavy", 1)
	case i%10 == 9:
		return fixture.Pack(fmt.Sprintf("v%d", i), fmt.Sprintf("v%d", i), "very_heavy", 1)
	}
	return testenv.ShopEvent(i)
}

type benchPage struct {
	name string
	path func() string
}

func benchPages(count int) []benchPage {
	anywhere := func() int { return rand.IntN(count) + 1 }
	always := func(path string) func() string { return func() string { return path } }
	events := func(name string, filter func() url.Values) benchPage {
		return benchPage{"events: " + name, func() string { return "/events?" + filter().Encode() }}
	}
	some := func(pairs ...string) func() url.Values {
		return func() url.Values {
			out := url.Values{"before": {strconv.Itoa(anywhere())}}
			for i := 0; i < len(pairs); i += 2 {
				out.Set(pairs[i], pairs[i+1])
			}
			return out
		}
	}
	received := func(length time.Duration, pairs ...string) func() url.Values {
		return func() url.Values {
			from := receivedAt(anywhere(), count)
			out := some(pairs...)()
			out.Del("before")
			out.Set("from", from.Format(time.RFC3339))
			out.Set("to", from.Add(length).Format(time.RFC3339))
			return out
		}
	}
	customer := func(name, user string) []benchPage {
		return []benchPage{
			{"customer with " + name, always("/users/" + user)},
			{"customer with " + name + ", somewhere", func() string { return fmt.Sprintf("/users/%s?before=%d", user, max(anywhere(), count/50)) }},
		}
	}
	return slices.Concat([]benchPage{
		{"overview", always("/")},
		events("newest", func() url.Values { return nil }),
		events("somewhere", some()),
		events("a common type", some("type", "checkout.*")),
		events("a rare reason", some("reason", "missing_user")),
		events("nothing found", some("type", "no such type")),
		events("an hour", received(time.Hour)),
		events("rejected in a month", received(30*24*time.Hour, "outcome", "rejected")),
		events("a customer", func() url.Values { return url.Values{"user": {fmt.Sprint("user_", anywhere()/10)}} }),
		events("a customer with a hundredth of all", some("user", "heavy")),
		events("of that customer, nothing found", some("user", "heavy", "type", "no such type")),
		{"event", func() string { return fmt.Sprintf("/events/h%d", max(anywhere()-1000, 0)/1000*1000+150) }},
		{"payment", func() string { return fmt.Sprintf("/payments/ord_once_%d", max(anywhere()/10-1, 0)*10+3) }},
		{"subscription", func() string { return fmt.Sprint("/subscriptions/sub_", (anywhere()-1)/10) }},
		{"customer", func() string { return fmt.Sprint("/users/user_", (anywhere()-1)/10) }},
	},
		customer("a thousandth of all", "often"), customer("a hundredth of all", "heavy"), customer("a tenth of all", "very_heavy"),
		[]benchPage{
			{"customers", always("/customers")},
			{"payments", always("/payments")},
			{"payments: refunded", always("/payments?refunded=yes")},
			{"payments: nothing found", always("/payments?product=nothing")},
			{"subscriptions", always("/subscriptions")},
			{"subscriptions: past due", always("/subscriptions?status=past_due")},
			{"search: a beginning", always("/search?q=user_1")},
			{"search: nothing", func() string { return fmt.Sprint("/search?q=x", anywhere()) }},
			{"search: that customer", always("/search?q=very_heavy")},
			{"rejected", always("/rejected")},
			{"measures: 30 days", always("/measures")},
			{"measures: 12 months", always("/measures?by=month")},
			{"projectors", always("/projectors")},
			{"schemas", always("/schemas")},
			{"invitations", always("/invitations")},
		})
}
