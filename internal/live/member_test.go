package live_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/live"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv/fixture"
	"github.com/payfold/payfold/internal/testenv/wait"
	"github.com/payfold/payfold/internal/testenv/world"
)

// others opens stores of other owners on the same database.
func others(ctx context.Context, t *testing.T, s *store.Store, count int) []*store.Store {
	t.Helper()
	out := make([]*store.Store, count)
	for i := range out {
		var err error
		out[i], err = store.Open(ctx, store.Config{
			DSN: s.Pool().Config().ConnString(), Owner: fmt.Sprintf("other%d", i), LeaseTime: s.LeaseTime(), ConnectTimeout: wait.Timeout,
		})
		require.NoError(t, err)
		t.Cleanup(out[i].Close)
	}
	return out
}

func TestAPartitionHasOneOwner(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	stores := others(ctx, t, s, 6)
	everything := []int{0, 1, 2, 3}
	var group errgroup.Group
	taken := make([][]int, len(stores))
	for i, member := range stores {
		group.Go(func() (err error) {
			if _, err = (live.Members{Store: member}).Heartbeat(ctx); err == nil {
				taken[i], err = live.Members{Store: member}.TakeLeases(ctx, everything)
			}
			return err
		})
	}
	require.NoError(t, group.Wait())
	var all []int
	for _, partitions := range taken {
		all = append(all, partitions...)
	}
	require.ElementsMatch(t, everything, all)

	membership, err := live.Members{Store: s}.Heartbeat(ctx)
	require.NoError(t, err)
	require.Len(t, membership.Members, 7)
	require.Len(t, membership.Leases, 4)
}

func TestAMemberThatLeavesReleasesItsLeasesAtOnce(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	other := others(ctx, t, s, 1)[0]
	_, err := live.Members{Store: other}.Heartbeat(ctx)
	require.NoError(t, err)
	taken, err := live.Members{Store: other}.TakeLeases(ctx, []int{0, 1})
	require.NoError(t, err)
	require.Equal(t, []int{0, 1}, taken)
	require.NoError(t, live.Members{Store: other}.ReleaseLeases(ctx, []int{1}))
	taken, err = live.Members{Store: s}.TakeLeases(ctx, []int{0, 1})
	require.NoError(t, err)
	require.Equal(t, []int{1}, taken)
	require.NoError(t, live.Members{Store: other}.Leave(ctx))
	taken, err = live.Members{Store: s}.TakeLeases(ctx, []int{0, 1})
	require.NoError(t, err)
	require.Equal(t, []int{0}, taken)
}

func TestAHeartbeatRenewsTheLeases(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	_, err := live.Members{Store: s}.TakeLeases(ctx, []int{0})
	require.NoError(t, err)
	_, err = s.Pool().Exec(ctx, "update payfold.lease set expires_at = clock_timestamp() + interval '1 second'")
	require.NoError(t, err)
	_, err = live.Members{Store: s}.Heartbeat(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 1, fixture.Number(ctx, t, s, "select count(*) from payfold.lease where expires_at > clock_timestamp() + interval '30 seconds'"))
}

// With the collation of a language, app1 comes before DB1.
func TestMembersShareThePartitionsInEveryCollation(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	stores := []*store.Store{w.OpenAs(ctx, t, "app1"), w.OpenAs(ctx, t, "DB1")}
	for _, s := range stores {
		t.Cleanup(s.Close)
		require.NoError(t, s.Prepare(ctx, "log-1", 8, fixture.AnyMode))
	}
	// (Before PostgreSQL 15 a database has only collations of its machine; a column has others, too.)
	_, err := w.DB.Exec(ctx, `alter table payfold.member alter owner type text collate "en-x-icu"`)
	require.NoError(t, err)
	for _, s := range stores {
		_, err := live.Members{Store: s}.Heartbeat(ctx)
		require.NoError(t, err)
	}
	require.EqualValues(t, 1, w.Number(ctx, t, "select count(*) from payfold.member where owner = 'app1' and owner < 'DB1'"))

	for _, s := range stores {
		share, _, err := live.New(w.Config(t, s, fixture.AnyMode)).HeartbeatOnce(ctx, 8)
		require.NoError(t, err)
		require.Len(t, share, 4)
		now, err := live.Members{Store: s}.Heartbeat(ctx)
		require.NoError(t, err)
		require.Equal(t, []string{"DB1", "app1"}, now.Members)
	}
}

func TestASilentMemberIsEvictedAndItsSessionsEnd(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		silent    time.Duration
		connected bool
		evicted   bool
	}{
		"silent for less than three heartbeats":                   {-time.Minute, false, false}, // however slow the machine is
		"silent, and no session of it is left":                    {4 * time.Second, false, true},
		"silent, but its sessions are there":                      {4 * time.Second, true, false},
		"of a clock that was ahead, and no session of it is left": {-2 * time.Minute, false, true},
		"of a clock that was ahead, but its sessions are there":   {-2 * time.Minute, true, false},
		"silent for a lease's time, frozen, connected":            {time.Minute + time.Second, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, s := fixture.Tables(t)
			other := others(ctx, t, s, 1)[0]
			_, err := live.Members{Store: other}.Heartbeat(ctx)
			require.NoError(t, err)
			_, err = live.Members{Store: other}.TakeLeases(ctx, []int{3})
			require.NoError(t, err)
			session, err := other.Pool().Acquire(ctx)
			require.NoError(t, err)
			defer session.Release()
			if !test.connected {
				require.NoError(t, session.Conn().Close(ctx))
				other.Pool().Reset()
				wait.Until(t, func() bool {
					return fixture.Number(ctx, t, s, "select count(*) from pg_stat_activity where datname = current_database() and application_name = 'payfold-projector other0'") == 0
				})
			}
			// The database's clock cannot be set, so the times in the tables are moved back.
			_, err = s.Pool().Exec(ctx, "update payfold.member set last_seen = last_seen - $1::interval", test.silent)
			require.NoError(t, err)
			_, err = s.Pool().Exec(ctx, "update payfold.lease set expires_at = expires_at - $1::interval", test.silent)
			require.NoError(t, err)

			membership, err := live.Members{Store: s}.Heartbeat(ctx)
			require.NoError(t, err)
			if !test.evicted {
				require.Equal(t, map[int]string{3: "other0"}, membership.Leases)
				return
			}
			require.Equal(t, []string{"test"}, membership.Members)
			require.Empty(t, membership.Leases)
			if test.connected {
				require.Error(t, session.Conn().Ping(ctx), "its session was ended")
			}
		})
	}
}
