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

// shelf is the lease table and the members, as the database keeps them.
type shelf struct {
	partitions int
	standing   Standing
}

// heartbeat is what one member does in one heartbeat: it takes only what is free.
func (s *shelf) heartbeat(self string) {
	next := nextStep(self, s.partitions, s.standing)
	for _, partition := range next.over {
		delete(s.standing.Leases, partition)
	}
	for _, partition := range next.free {
		s.standing.Leases[partition] = self
	}
}

func (s *shelf) shares() map[string]int {
	shares := map[string]int{}
	for _, owner := range s.standing.Leases {
		shares[owner]++
	}
	return shares
}

// Members come, go and expire in any order; once they stop doing so, two rounds
// of heartbeats, in any order, give every partition to one and even shares to all.
func TestSharesEvenOutAfterAnyInterleaving(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := &shelf{
			partitions: rapid.IntRange(1, 70).Draw(t, "partitions"),
			standing:   Standing{Members: []string{"m0"}, Leases: map[int]string{}},
		}
		leave := func(at int) {
			gone := s.standing.Members[at]
			s.standing.Members = append(append([]string{}, s.standing.Members[:at]...), s.standing.Members[at+1:]...)
			for partition, owner := range s.standing.Leases {
				if owner == gone {
					delete(s.standing.Leases, partition)
				}
			}
		}
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"join", "leave", "heartbeat", "heartbeat"}).Draw(t, "step") {
			case "join":
				if last := s.standing.Members[len(s.standing.Members)-1]; last < "m9" {
					s.standing.Members = append(s.standing.Members, fmt.Sprintf("m%c", last[1]+1))
				}
			case "leave":
				if len(s.standing.Members) > 1 {
					leave(rapid.IntRange(0, len(s.standing.Members)-1).Draw(t, "who"))
				}
			case "heartbeat":
				s.heartbeat(rapid.SampledFrom(s.standing.Members).Draw(t, "who"))
			}
		}
		for range 2 {
			for _, member := range rapid.Permutation(s.standing.Members).Draw(t, "order") {
				s.heartbeat(member)
			}
		}
		shares := s.shares()
		for place, member := range s.standing.Members {
			require.Equal(t, quota(s.partitions, len(s.standing.Members), place), shares[member], "%s of %v", member, s.standing.Members)
		}
		require.Len(t, s.standing.Leases, s.partitions)
	})
}

func TestWhoIsNoMemberGivesUpEverything(t *testing.T) {
	t.Parallel()
	next := nextStep("buried", 4, Standing{Members: []string{"other"}, Leases: map[int]string{0: "buried", 2: "buried"}})
	require.Equal(t, []int{0, 2}, next.over)
	require.Empty(t, next.free)
}
