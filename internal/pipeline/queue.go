package pipeline

// queue returns decoded batches in the order of the log.
type queue struct {
	order      <-chan *Batch
	maxBatches uint64 // batches in one call of take
	first      *Batch // received by the last take, but not decoded then; may be nil
	err        error  // of the batch after those that were returned
}

// take waits until the next batch is decoded. It returns this batch and the following ones that are
// already decoded. At the end it returns none.
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
		if some = append(some, b); uint64(len(some)) == q.maxBatches {
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
