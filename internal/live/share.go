package live

import (
	"slices"
)

// quota is how many of the partitions the member at that place takes, of so many
// members in sorted order: they differ by one at most and add up to all.
func quota(partitions, members, place int) int {
	share := partitions / members
	if place < partitions%members {
		share++
	}
	return share
}

// step is what a member does after a heartbeat.
type step struct {
	held []int // its leases, sorted, with those that are over
	over []int // to be given up, the highest
	free []int // to be taken: nobody holds them
}

// nextStep compares what the member holds with its quota. It depends on
// nothing but what the heartbeat saw.
func nextStep(self string, partitions int, now Standing) step {
	var s step
	var free []int
	for partition := range partitions {
		switch now.Leases[partition] {
		case self:
			s.held = append(s.held, partition)
		case "":
			free = append(free, partition)
		}
	}
	place, member := slices.BinarySearch(now.Members, self)
	if !member {
		s.over = s.held
		return s
	}
	if want := quota(partitions, len(now.Members), place); len(s.held) > want {
		s.over = s.held[want:]
	} else {
		s.free = free[:min(len(free), want-len(s.held))]
	}
	return s
}
