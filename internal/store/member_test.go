package store

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/testenv/wait"
)

// others opens stores of other owners on the same database.
func others(ctx context.Context, t *testing.T, s *Store, count int) []*Store {
	t.Helper()
	out := make([]*Store, count)
	for i := range out {
		var err error
		out[i], err = Open(ctx, Config{
			DSN: s.pool.Config().ConnString(), Owner: fmt.Sprintf("other%d", i), LeaseTime: s.leaseTime,
		})
		require.NoError(t, err)
		t.Cleanup(out[i].Close)
	}
	return out
}

func TestAPartitionHasOneOwner(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	members := others(ctx, t, s, 6)
	everything := []int{0, 1, 2, 3}
	var group errgroup.Group
	taken := make([][]int, len(members))
	for i, member := range members {
		group.Go(func() (err error) {
			if _, err = member.Heartbeat(ctx); err == nil {
				taken[i], err = member.Take(ctx, everything)
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

	standing, err := s.Heartbeat(ctx)
	require.NoError(t, err)
	require.Len(t, standing.Members, 7)
	require.Len(t, standing.Leases, 4)
}

func TestWhoLeavesHandsOverAtOnce(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	other := others(ctx, t, s, 1)[0]
	_, err := other.Heartbeat(ctx)
	require.NoError(t, err)
	taken, err := other.Take(ctx, []int{0, 1})
	require.NoError(t, err)
	require.Equal(t, []int{0, 1}, taken)
	require.NoError(t, other.Release(ctx, []int{1}))
	taken, err = s.Take(ctx, []int{0, 1})
	require.NoError(t, err)
	require.Equal(t, []int{1}, taken)
	require.NoError(t, other.Leave(ctx))
	taken, err = s.Take(ctx, []int{0, 1})
	require.NoError(t, err)
	require.Equal(t, []int{0}, taken)
}

func TestASilentMemberIsBuriedWithItsSessions(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		silent    time.Duration
		connected bool
		buried    bool
	}{
		"silent for less than three heartbeats":        {-time.Minute, false, false}, // however slow the machine is
		"silent, and no session of it is left":         {4 * time.Second, false, true},
		"silent, but its sessions are there":           {4 * time.Second, true, false},
		"silent for a lease's time, frozen, connected": {time.Minute + time.Second, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, s := setup(t)
			other := others(ctx, t, s, 1)[0]
			_, err := other.Heartbeat(ctx)
			require.NoError(t, err)
			_, err = other.Take(ctx, []int{3})
			require.NoError(t, err)
			session, err := other.pool.Acquire(ctx)
			require.NoError(t, err)
			defer session.Release()
			if !test.connected {
				require.NoError(t, session.Conn().Close(ctx))
				other.pool.Reset()
				wait.Until(t, func() bool {
					return number(ctx, t, s, "select count(*) from pg_stat_activity where datname = current_database() and application_name = 'payfold-projector other0'") == 0
				})
			}
			// The clock is the database's: the past is moved, not the present.
			_, err = s.pool.Exec(ctx, "update payfold.member set last_seen = last_seen - $1::interval", test.silent)
			require.NoError(t, err)
			_, err = s.pool.Exec(ctx, "update payfold.lease set expires_at = expires_at - $1::interval", test.silent)
			require.NoError(t, err)

			standing, err := s.Heartbeat(ctx)
			require.NoError(t, err)
			if !test.buried {
				require.Equal(t, map[int]string{3: "other0"}, standing.Leases)
				return
			}
			require.Equal(t, []string{"test"}, standing.Members)
			require.Empty(t, standing.Leases)
			if test.connected {
				require.Error(t, session.Conn().Ping(ctx), "its session was ended")
			}
		})
	}
}
