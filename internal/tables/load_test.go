package tables_test

import (
	"context"
	"regexp"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/live"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

// roundTrips notes, for each round trip, the tables whose rows it locks.
type roundTrips struct {
	pgx.Tx
	locks [][]string
}

var locking = regexp.MustCompile(`(?s)^select .*? from (\w+) where .* for update$`)

func (r *roundTrips) SendBatch(ctx context.Context, batch *pgx.Batch) pgx.BatchResults {
	var names []string
	for _, q := range batch.QueuedQueries {
		if match := locking.FindStringSubmatch(q.SQL); match != nil {
			names = append(names, match[1])
		}
	}
	r.locks = append(r.locks, names)
	return r.Tx.SendBatch(ctx, batch)
}

// Otherwise two transactions could each wait for a row of the other.
func TestEachRoundTripLocksRowsInTheOrderOfAllTables(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	paid := func(seq uint64, id string) events.Event {
		return fixture.Event(t, seq, `{"id":"`+id+`","eventType":"subscription.paid","created_at":1767340000000,"object":{"id":"s_`+id+`",
			"last_transaction_id":"t_`+id+`","metadata":{"user_id":"u1","kind":"subscription","credits":10}}}`)
	}
	_, err := live.Apply(ctx, s, fixture.AnyMode, []events.Event{paid(1, "e1")}, store.Advance{LogID: "log-1", From: fixture.From(0, 0), To: 1})
	require.NoError(t, err)
	var sent roundTrips
	require.NoError(t, pgx.BeginFunc(ctx, s.Pool(), func(tx pgx.Tx) error {
		sent.Tx = tx
		l := tables.Loader{Schema: s.Schema(), Rules: fixture.AnyMode, State: projections.NewState()}
		return l.Add(ctx, &sent, []events.Event{paid(2, "e2")})
	}))
	order := map[string]int{}
	for i, table := range tables.All {
		order[table.About().Name] = i
	}
	most := 0
	for _, names := range sent.locks {
		require.True(t, slices.IsSortedFunc(names, func(a, b string) int { return order[a] - order[b] }), "%q", names)
		most = max(most, len(names))
	}
	require.GreaterOrEqual(t, most, 4, "%q", sent.locks)
}
