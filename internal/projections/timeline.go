package projections

import (
	"cmp"
	"slices"
	"time"
)

// timeline lists payments in the order of the provider's time, then of their names.
type timeline []stamp

type stamp struct {
	at time.Time
	id string
}

func (a stamp) compare(b stamp) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.id, b.id)) }

// from returns the payments from that time on.
func (t timeline) from(at time.Time) (ids []string) {
	begin, _ := slices.BinarySearchFunc(t, stamp{at: at}, stamp.compare)
	for _, one := range t[begin:] {
		ids = append(ids, one.id)
	}
	return ids
}

// moveStamp lists a payment under another key, or at another time. Under the empty key it is not listed.
func moveStamp(index map[string]timeline, from, to string, was, is stamp) {
	if from == to && was == is {
		return
	}
	if from != "" {
		if at, found := slices.BinarySearchFunc(index[from], was, stamp.compare); found {
			index[from] = slices.Delete(index[from], at, at+1)
		}
	}
	if to != "" {
		at, _ := slices.BinarySearchFunc(index[to], is, stamp.compare)
		index[to] = slices.Insert(index[to], at, is)
	}
}
