package live

import (
	"slices"
)

// quota is the number of partitions of one member, where place is its index in the list of
// members. Quotas differ by at most one, and their sum is partitions.
func quota(partitions, members, place int) int {
	share := partitions / members
	if place < partitions%members {
		share++
	}
	return share
}

// leaseChanges are the partitions that a member has, gives up and takes after a heartbeat.
type leaseChanges struct {
	held    []int // its leases, sorted, including the surplus
	surplus []int // the highest of held, to be released
	free    []int // without a lease, to be taken
}

// leaseChangesOf compares the leases of a member with its quota. It is a pure function of
// the heartbeat's result. The members may have any order that is the same for all of them.
func leaseChangesOf(self string, partitions int, now Membership) leaseChanges {
	var changes leaseChanges
	var free []int
	for partition := range partitions {
		switch now.Leases[partition] {
		case self:
			changes.held = append(changes.held, partition)
		case "":
			free = append(free, partition)
		}
	}
	place := slices.Index(now.Members, self)
	if place < 0 {
		changes.surplus = changes.held
		return changes
	}
	if want := quota(partitions, len(now.Members), place); len(changes.held) > want {
		changes.surplus = changes.held[want:]
	} else {
		changes.free = free[:min(len(free), want-len(changes.held))]
	}
	return changes
}
