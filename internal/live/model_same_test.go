package live

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// Times of the two clocks differ by less than these distances: the times of the test are multiples of ten seconds.
const (
	sameLeaseTime = 1005 * time.Second
	samePartition = 4
)

// both is a database and the model, which get the same statements. The model's clock stands still, and the rows of the
// database get the times of the model, relative to the database's clock, before each statement.
type both struct {
	db     *store.Store
	model  *model
	now    time.Time
	owners map[string]*store.Store
	open   map[string]bool
}

func (b *both) exec(t *rapid.T, sql string, args ...any) {
	_, err := b.db.Pool().Exec(t.Context(), sql, args...)
	require.NoError(t, err)
}

func (b *both) setTimes(t *rapid.T) {
	for owner, seen := range b.model.members {
		b.exec(t, "update payfold.member set last_seen = clock_timestamp() + $2::interval where owner = $1", owner, seen.Sub(b.now))
	}
	for partition, one := range b.model.leases {
		b.exec(t, "update payfold.lease set expires_at = clock_timestamp() + $2::interval where partition = $1", partition, one.expires.Sub(b.now))
	}
}

// disconnect ends the sessions of an owner.
func (b *both) disconnect(t *rapid.T, owner string) {
	b.owners[owner].Pool().Reset()
	b.open[owner] = false
	for deadline := time.Now().Add(wait.Timeout); ; {
		var sessions int
		require.NoError(t, b.db.Pool().QueryRow(t.Context(), `select count(*) from pg_stat_activity
			where datname = current_database() and application_name = $1`, store.ApplicationName+owner).Scan(&sessions))
		if sessions == 0 {
			return
		}
		require.True(t, time.Now().Before(deadline), "the sessions of %s do not end", owner)
	}
}

func (b *both) step(t *rapid.T) {
	ctx := t.Context()
	owner := rapid.SampledFrom(slices.Sorted(maps.Keys(b.owners))).Draw(t, "owner")
	as := b.owners[owner]
	b.setTimes(t)
	partitions := rapid.SliceOfNDistinct(rapid.IntRange(0, samePartition-1), 0, samePartition, rapid.ID).Draw(t, "partitions")
	switch rapid.IntRange(0, 6).Draw(t, "statement") {
	case 0, 1, 2:
		seen, err := Members{as}.Heartbeat(ctx)
		if err != nil { // its sessions were ended
			as.Pool().Reset()
			seen, err = Members{as}.Heartbeat(ctx)
		}
		require.NoError(t, err)
		want, evicted := b.model.heartbeat(owner, b.now, func(owner string) bool { return b.open[owner] })
		require.Equal(t, want, seen)
		for _, other := range evicted {
			b.disconnect(t, other)
		}
	case 3, 4:
		taken, err := Members{as}.TakeLeases(ctx, partitions)
		if err != nil {
			as.Pool().Reset()
			taken, err = Members{as}.TakeLeases(ctx, partitions)
		}
		require.NoError(t, err)
		require.ElementsMatch(t, b.model.takeLeases(owner, b.now, partitions), taken)
	case 5:
		require.NoError(t, Members{as}.ReleaseLeases(ctx, partitions))
		b.model.releaseLeases(owner, partitions)
	case 6:
		if rapid.Bool().Draw(t, "leaves") {
			require.NoError(t, Members{as}.Leave(ctx))
			b.model.leave(owner)
			break
		}
		b.disconnect(t, owner)
		return
	}
	b.open[owner] = true
}

func (b *both) requireSame(t *rapid.T) {
	have := map[int]string{}
	rows, err := b.db.Pool().Query(t.Context(), "select partition, owner from payfold.lease")
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var partition int
		var owner string
		require.NoError(t, rows.Scan(&partition, &owner))
		have[partition] = owner
	}
	require.NoError(t, rows.Err())
	want := map[int]string{}
	for partition, one := range b.model.leases {
		want[partition] = one.owner
	}
	require.Equal(t, want, have)
}

// The schedules run on the model, so it must mean what the statements mean.
func TestTheModelOfLeasesDoesWhatPostgresDoes(t *testing.T) {
	t.Parallel()
	dsn := testenv.Database(t)
	open := func(owner string) *store.Store {
		s, err := store.Open(context.Background(), store.Config{DSN: dsn, Owner: owner, LeaseTime: sameLeaseTime, ConnectTimeout: wait.Timeout})
		require.NoError(t, err)
		t.Cleanup(s.Close)
		return s
	}
	db := open("observer")
	require.NoError(t, db.Prepare(t.Context(), "log-1", samePartition, projections.Rules{Mode: projections.ModeAny}))
	owners := map[string]*store.Store{}
	for i := range 3 {
		owners[fmt.Sprint("p", i)] = open(fmt.Sprint("p", i))
	}
	rapid.Check(t, func(rt *rapid.T) {
		b := &both{db: db, model: newModel(sameLeaseTime, samePartition, "log-1"), now: time.Unix(1e9, 0), owners: owners, open: map[string]bool{}}
		b.exec(rt, "delete from payfold.member")
		b.exec(rt, "delete from payfold.lease")
		for owner := range owners {
			b.disconnect(rt, owner)
		}
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			b.now = b.now.Add(time.Duration(rapid.SampledFrom([]int{0, 0, 0, 10, 10, 500, -1500}).Draw(rt, "seconds")) * time.Second)
			b.step(rt)
			b.requireSame(rt)
		}
	})
}
