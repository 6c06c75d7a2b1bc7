package events

import "hash/fnv"

// Partition returns the event's partition among n: FNV-1a (32 bits) of its key, modulo n. The key
// is the id of the customer; if that is absent, the id of the user, the subscription, the payment
// or the event, in this order. So all events that name a customer share a partition and are folded
// in the order of the log.
func (e Event) Partition(n int) int {
	hash := fnv.New32a()
	hash.Write([]byte(e.Key))
	return int(hash.Sum32() % uint32(n))
}
