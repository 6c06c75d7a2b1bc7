package events

import "hash/fnv"

// Partition returns the event's partition among n: FNV-1a (32 bits) of its key, modulo n. The key
// is the id of the customer; if that is absent, the id of the user, the subscription, the payment
// or the event, in this order. So all events that name a customer share a partition and are folded
// in the order of the log.
func (e Event) Partition(n int) int {
	hash := fnv.New32a()
	hash.Write([]byte(e.key))
	return int(hash.Sum32() % uint32(n))
}

func (e *envelope) partitionKey(user, subscription, transaction, order *scalar) *scalar {
	o := &e.object
	customer := first(
		&o.Customer.ID, &o.Customer.asID, &o.Order.Customer.ID, &o.Order.Customer.asID,
		&o.Subscription.Customer.ID, &o.Subscription.Customer.asID,
		&o.Transaction.Customer.ID, &o.Transaction.Customer.asID,
	)
	return first(customer, user, subscription, transaction, order, &e.id)
}
