package testenv

import (
	"crypto/sha256"
	"fmt"
	"time"
)

// Customers is a number of customers who buy for years.
type Customers int

// Event returns the body of the i-th event, always the same for the same i, of about 1.5
// KB. It is of customer i modulo c. Of every 20 events nine are renewals, each with a new
// transaction, eight are single purchases, two change a subscription and name one of its
// older payments, and one is a licence. Each customer has events of all kinds.
func (c Customers) Event(i int) string {
	s := sale{
		event: providerID("evt", i), number: providerID("ch", i), customer: providerID("cust", i%int(c)),
		at: shopOpens.Add(time.Duration(i) * time.Second),
	}
	switch c.kindOf(i) {
	case 'r':
		return s.subscription("subscription.paid", "active", transaction(i))
	case 'p':
		return s.checkout("one_time", transaction(i), "ord_"+providerID("ord", i))
	case 'l':
		return s.checkout("pro", transaction(i), "ord_"+providerID("ord", i))
	default:
		return s.subscription("subscription.update", "active", c.olderRenewal(i))
	}
}

// kinds are the kinds of 20 events: renewals, purchases, changes and a licence.
const kinds = "rprprcprprlrpcrprprp"

// kindOf differs between the events of a customer: 7 and len(kinds) have no common divisor.
func (c Customers) kindOf(i int) byte { return kinds[(i%int(c)+i/int(c)*7)%len(kinds)] }

// olderRenewal returns the transaction of an earlier renewal of the same customer, about
// in the middle of the events before the i-th; empty if there is none.
func (c Customers) olderRenewal(i int) string {
	for j := i - (i/int(c)+1)/2*int(c); j >= 0 && j < i; j -= int(c) {
		if c.kindOf(j) == 'r' {
			return transaction(j)
		}
	}
	return ""
}

func transaction(i int) string { return "tran_" + providerID("tran", i) }

// providerID returns the n-th id of a kind, without a prefix. It looks random, as a
// provider's ids do: new ids fall on all pages of an index and not only on the last one.
func providerID(kind string, n int) string {
	const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", kind, n))
	id := sum[:22]
	for i, b := range id {
		id[i] = alphabet[int(b)%len(alphabet)]
	}
	return string(id)
}
