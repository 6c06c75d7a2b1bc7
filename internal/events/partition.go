package events

import "hash/fnv"

// Partition is where the event belongs among n partitions: FNV-1a (32 bits) of
// its key, modulo n. The key is the customer's id, else the user's, the
// subscription's, the payment's, the event's own, so a customer's events share
// a partition and are folded in the order of the log.
func (e Event) Partition(n int) int {
	hash := fnv.New32a()
	hash.Write([]byte(e.key))
	return int(hash.Sum32() % uint32(n))
}
