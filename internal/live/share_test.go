package live

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestQuotasAddUpAndDifferByOneAtMost(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		partitions, members := rapid.IntRange(1, 1024).Draw(t, "partitions"), rapid.IntRange(1, 200).Draw(t, "members")
		sum := 0
		for place := range members {
			share := quota(partitions, members, place)
			sum += share
			require.Contains(t, []int{partitions / members, (partitions + members - 1) / members}, share)
		}
		require.Equal(t, partitions, sum)
	})
}

// leaseTable has the members and the leases, as the database has them.
type leaseTable struct {
	partitions int
	members    Membership
}

// heartbeat releases the surplus of a member and takes free leases.
func (s *leaseTable) heartbeat(self string) {
	change := leaseChangesOf(self, s.partitions, s.members)
	for _, partition := range change.surplus {
		delete(s.members.Leases, partition)
	}
	for _, partition := range change.free {
		s.members.Leases[partition] = self
	}
}

func (s *leaseTable) shares() map[string]int {
	shares := map[string]int{}
	for _, owner := range s.members.Leases {
		shares[owner]++
	}
	return shares
}

// Members come and go in any order. After that, two rounds of heartbeats in any order give
// every partition to one member, and the shares differ by at most one.
func TestSharesAreEvenAfterAnyInterleaving(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := &leaseTable{
			partitions: rapid.IntRange(1, 70).Draw(t, "partitions"),
			members:    Membership{Members: []string{"m0"}, Leases: map[int]string{}},
		}
		leave := func(at int) {
			left := s.members.Members[at]
			s.members.Members = append(append([]string{}, s.members.Members[:at]...), s.members.Members[at+1:]...)
			for partition, owner := range s.members.Leases {
				if owner == left {
					delete(s.members.Leases, partition)
				}
			}
		}
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"join", "leave", "heartbeat", "heartbeat"}).Draw(t, "step") {
			case "join":
				if last := s.members.Members[len(s.members.Members)-1]; last < "m9" {
					s.members.Members = append(s.members.Members, fmt.Sprintf("m%c", last[1]+1))
				}
			case "leave":
				if len(s.members.Members) > 1 {
					leave(rapid.IntRange(0, len(s.members.Members)-1).Draw(t, "who"))
				}
			case "heartbeat":
				s.heartbeat(rapid.SampledFrom(s.members.Members).Draw(t, "who"))
			}
		}
		for range 2 {
			for _, member := range rapid.Permutation(s.members.Members).Draw(t, "order") {
				s.heartbeat(member)
			}
		}
		shares := s.shares()
		for place, member := range s.members.Members {
			require.Equal(t, quota(s.partitions, len(s.members.Members), place), shares[member], "%s of %v", member, s.members.Members)
		}
		require.Len(t, s.members.Leases, s.partitions)
	})
}

func TestAnEvictedMemberReleasesAllItsLeases(t *testing.T) {
	t.Parallel()
	change := leaseChangesOf("evicted", 4, Membership{Members: []string{"other"}, Leases: map[int]string{0: "evicted", 2: "evicted"}})
	require.Equal(t, []int{0, 2}, change.surplus)
	require.Empty(t, change.free)
}

func TestTheMembersMayHaveAnyOrder(t *testing.T) {
	t.Parallel()
	for _, members := range [][]string{{"app1", "DB1"}, {"DB1", "app1"}} {
		s := &leaseTable{partitions: 5, members: Membership{Members: members, Leases: map[int]string{}}}
		s.heartbeat("app1")
		s.heartbeat("DB1")
		require.Equal(t, map[string]int{members[0]: 3, members[1]: 2}, s.shares())
	}
}
