package pipeline

// queue gives out batches in their order.
type queue struct {
	order <-chan *Batch
	most  uint64 // at once
	first *Batch // of the next, which was not decoded yet; may be nil
	err   error  // behind which there are no more
}

// take waits for a batch that is decoded and returns it, with those behind it that
// are decoded already. It returns none when there are no more.
func (q *queue) take() (some []*Batch, err error) {
	if q.err != nil {
		return nil, q.err
	}
	b := q.first
	if b == nil {
		b = <-q.order
	}
	for q.first = nil; b != nil; {
		if q.err = <-b.decoded; q.err != nil {
			break
		}
		if some = append(some, b); uint64(len(some)) == q.most {
			return some, nil
		}
		select {
		case b = <-q.order:
		default:
			return some, nil
		}
		if b != nil && len(b.decoded) == 0 {
			q.first = b
			return some, nil
		}
	}
	if len(some) > 0 {
		return some, nil
	}
	return nil, q.err
}
