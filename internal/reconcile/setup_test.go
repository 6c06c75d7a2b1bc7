package reconcile_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/live"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/providerapi"
	"github.com/payfold/payfold/internal/providers"
	"github.com/payfold/payfold/internal/reconcile"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

func TestMain(m *testing.M) { os.Exit(testenv.RunWithPostgres(m)) }

// shop is a shop that sells with one provider: what the provider has, and the log and the tables of payfold.
type shop struct {
	*server
	ctx     context.Context
	now     time.Time
	log     *testenv.Log
	tables  *store.Store
	applied uint64
	sent    int // events
	rules   projections.Rules
}

func newShop(t *testing.T, name string) *shop {
	t.Helper()
	ctx, tables := fixture.Tables(t)
	s := &shop{
		server: newServer(t, name), ctx: ctx, now: time.Now().UTC().Truncate(time.Second),
		log: testenv.NewLog(t, fixture.Partitions), tables: tables, rules: fixture.AnyMode,
	}
	s.takeLog(t)
	return s
}

// takeLog makes the tables those of the log.
func (s *shop) takeLog(t testing.TB) {
	t.Helper()
	info, err := s.log.Info(s.ctx)
	require.NoError(t, err)
	for _, table := range []string{"checkpoint", "payfold.schema_state"} {
		_, err := s.tables.Pool().Exec(s.ctx, "update "+table+" set log_id = $1", info.LogID)
		require.NoError(t, err)
	}
}

// deliver appends events about objects to the log.
func (s *shop) deliver(t *testing.T, made ...made) {
	t.Helper()
	for _, one := range made {
		for _, event := range one.Events {
			s.sent++
			id := fmt.Sprintf("evt_%d", s.sent)
			body := s.Body(id, event.Type, one.At, event.Object)
			s.append(t, s.Provider, id, body)
		}
	}
}

func (s *shop) append(t *testing.T, provider, id, body string) {
	t.Helper()
	parsed, err := providers.Named(provider).Parse([]byte(body), id)
	require.NoError(t, err, body)
	require.NoError(t, testenv.Append(s.ctx, s.log.Log, events.Delivery{
		Event: parsed, Body: []byte(body),
		Provider: provider, ReceivedAt: s.now,
	}))
}

// apply folds what the log has and the tables do not.
func (s *shop) apply(t *testing.T) {
	t.Helper()
	info, err := s.log.Info(s.ctx)
	require.NoError(t, err)
	if info.Last == s.applied {
		return
	}
	var batch []events.Event
	var digest []byte
	require.NoError(t, s.log.ReadUntil(s.ctx, s.applied+1, info.Last, func(m events.Message) error {
		batch, digest = append(batch, providers.Decode(m)), m.Digest()
		return nil
	}))
	from := map[int]uint64{}
	for p := range fixture.Partitions {
		from[p] = s.applied
	}
	_, err = live.Apply(s.ctx, s.tables, s.rules, batch, store.Advance{
		LogID: info.LogID, From: from, To: info.Last,
		Digest: digest,
	})
	require.NoError(t, err)
	s.applied = info.Last
}

// sells makes objects at the provider, and delivers and folds their events.
func (s *shop) sells(t *testing.T, all ...made) {
	t.Helper()
	s.Has(all...)
	s.deliver(t, all...)
	s.apply(t)
}

// compare compares the tables with what the provider lists since 20 days ago.
func (s *shop) compare(t *testing.T) reconcile.Result {
	t.Helper()
	result, err := s.reconcile(t, s.now.AddDate(0, 0, -20))
	require.NoError(t, err)
	return result
}

func (s *shop) reconcile(t *testing.T, since time.Time) (reconcile.Result, error) {
	t.Helper()
	return reconcile.Reconcile{
		API: s.client(t), Tables: s.tables, Log: s.log, Since: since, Now: func() time.Time { return s.now },
		Progress: func(providerapi.Kind, int) {},
	}.Run(s.ctx)
}

// requireOne requires that exactly one difference was found, which counts.
func requireOne(t *testing.T, result reconcile.Result, what reconcile.What) reconcile.Difference {
	t.Helper()
	text, err := json.Marshal(result.Found)
	require.NoError(t, err)
	require.Len(t, result.Found, 1, string(text))
	require.Equal(t, what, result.Found[0].What, string(text))
	require.Equal(t, 1, result.Differences)
	require.False(t, result.Holds())
	return result.Found[0]
}
