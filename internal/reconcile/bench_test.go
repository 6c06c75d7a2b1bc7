package reconcile_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/live"
	"github.com/payfold/payfold/internal/providerapi"
	"github.com/payfold/payfold/internal/providers"
	"github.com/payfold/payfold/internal/reconcile"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/fixture"
	"github.com/payfold/payfold/internal/testenv/payapi"
)

// BenchmarkReconcile compares many payments, which the tables have, with Stripe's list of them. The API of the test runs in
// the same process, and answers at once. heap_mb is the largest live heap.
func BenchmarkReconcile(b *testing.B) {
	for _, payments := range []int{20_000, 200_000} {
		b.Run(fmt.Sprint(payments), func(b *testing.B) {
			now := time.Now().UTC().Truncate(time.Second)
			sold := func(n int) payapi.Made {
				return payapi.Dialects["stripe"].Payment(n, 1200, now.Add(-20*aDay+time.Duration(n)*time.Second))
			}
			api := payapi.New(b, "stripe")
			api.Before = func(_ int, w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path == "/v1/invoices" {
					page(w, r, payments, sold)
				}
				return r.URL.Path == "/v1/invoices"
			}
			s := shopWith(b, payments, sold)
			key, err := providerapi.NewKey(payapi.Key)
			require.NoError(b, err)
			client, err := providerapi.New(providerapi.Config{Provider: "stripe", URL: api.URL, Key: key})
			require.NoError(b, err)
			defer client.Close()
			heap, memory := uint64(0), runtime.MemStats{}
			for b.Loop() {
				result, err := reconcile.Reconcile{
					API: client, Tables: s.tables, Log: s.log, Since: now.AddDate(0, 0, -30), Now: func() time.Time { return now },
					Progress: func(_ providerapi.Kind, compared int) {
						if compared%(payments/10) == 0 {
							runtime.GC()
							runtime.ReadMemStats(&memory)
							heap = max(heap, memory.HeapAlloc)
						}
					},
				}.Run(s.ctx)
				require.NoError(b, err)
				require.True(b, result.Holds())
				require.Equal(b, payments, result.Payments)
			}
			b.ReportMetric(float64(payments)*float64(b.N)/b.Elapsed().Seconds(), "payments/s")
			b.ReportMetric(float64(heap)/1e6, "heap_mb")
		})
	}
}

// page answers with the page of invoices after the one that the request names, newest first.
func page(w http.ResponseWriter, r *http.Request, payments int, sold func(n int) payapi.Made) {
	before, size := payments, 100
	if _, err := fmt.Sscanf(r.FormValue("starting_after"), "in_%d", &before); err != nil {
		before = payments
	}
	list := make([]string, min(size, before))
	for i := range list {
		text, err := json.Marshal(sold(before - 1 - i).Object)
		if err != nil {
			panic(err)
		}
		list[i] = string(text)
	}
	fmt.Fprintf(w, `{"object":"list","has_more":%t,"data":[%s]}`, before > size, strings.Join(list, ","))
}

// shopWith is a shop whose tables have these payments.
func shopWith(b *testing.B, payments int, sold func(n int) payapi.Made) *shop {
	_, tables := fixture.Tables(b)
	s := &shop{ctx: b.Context(), log: testenv.NewLog(b, fixture.Partitions), tables: tables, rules: fixture.AnyMode}
	s.takeLog(b)
	info, err := s.log.Info(s.ctx)
	require.NoError(b, err)
	var batch []events.Event
	for n := range payments {
		made, id, seq := sold(n), fmt.Sprintf("evt_%d", n), uint64(n+1)
		body := payapi.Dialects["stripe"].Body(id, made.Events[0].Type, made.At, made.Events[0].Object)
		message := events.Message{Provider: "stripe", ID: id, Seq: seq, Body: []byte(body), ReceivedAt: made.At}
		if batch = append(batch, providers.Decode(message)); len(batch) < 5000 && n < payments-1 {
			continue
		}
		from := map[int]uint64{}
		for p := range fixture.Partitions {
			from[p] = seq - uint64(len(batch))
		}
		_, err = live.Apply(s.ctx, tables, s.rules, batch, store.Advance{LogID: info.LogID, From: from, To: seq, Digest: []byte{1}})
		require.NoError(b, err)
		batch = batch[:0]
	}
	var rows int
	require.NoError(b, tables.Pool().QueryRow(s.ctx, "select count(*) from payment where provider = 'stripe'").Scan(&rows))
	require.Equal(b, payments, rows)
	return s
}
