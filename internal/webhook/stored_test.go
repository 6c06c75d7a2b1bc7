package webhook_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheLogGetsTheExactBytesAndTheTimeOfArrival(t *testing.T) {
	t.Parallel()
	w := setup(t)
	body := " \n{ \"eventType\":\"t\",\t\"id\":\"evt_1\", \"object\": {\"b\":1.0, \"a\":\"\\u00e9é\", \"a\":2}}\r\n"
	before := time.Now()
	require.Equal(t, accepted, w.send(delivery(body)).body)
	got := w.log.deliveries()[0]
	require.Equal(t, body, string(got.Body))
	require.Equal(t, "evt_1", got.Event.ID)
	require.Equal(t, "t", got.Event.Type)
	require.WithinRange(t, got.ReceivedAt, before, time.Now())
	require.Empty(t, got.TraceParent+got.TraceState)
}

func TestABodyOfAnySizeArrivesUnchanged(t *testing.T) {
	t.Parallel()
	w := setup(t, func(w *world) { w.config.MaxBodyBytes = 1 << 20 })
	for _, size := range []int{4095, 4096, 4097, 32767, 32768, 100_000, 1 << 20} {
		r := delivery(exactly(size))
		require.Equal(t, accepted, w.send(r).body)
		all := w.log.deliveries()
		require.True(t, r.body == string(all[len(all)-1].Body), size)
	}
}

func TestOnlyValidTraceHeadersAreStored(t *testing.T) {
	t.Parallel()
	const parent, state = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "rojo=1, congo=t61rcWkgMzE"
	w := setup(t)
	long := strings.Repeat("x", 512)
	for _, row := range []struct{ parent, state, wantParent, wantState string }{
		{parent, state, parent, state},
		{parent, "", parent, ""},
		{long, long, long, long},
		{long + "x", state, "", state},
		{parent, long + "x", parent, ""},
		{"a\tb", state, "", state},
		{parent, "a\tb", parent, ""},
		{"a\x80b", "é", "", ""},
	} {
		r := delivery(event)
		r.header["Traceparent"], r.header["Tracestate"] = []string{row.parent}, []string{row.state}
		require.Equal(t, accepted, w.send(r).body)
		all := w.log.deliveries()
		got := all[len(all)-1]
		require.Equal(t, row.wantParent, got.TraceParent)
		require.Equal(t, row.wantState, got.TraceState)
	}
}
