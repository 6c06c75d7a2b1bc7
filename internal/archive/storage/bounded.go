package storage

import (
	"context"
	"fmt"
	"time"
)

// Bounded returns the place with a limit for each answer: a list, an opened object, one read of it.
// After the limit the call fails, even if ctx cannot end it, as in a file system that does not
// answer. The operation itself continues, so the buffer of a read that failed must not be used
// again. Create, Sync and Remove have no limit.
func Bounded(place Place, limit time.Duration) Place { return bounded{place, limit} }

type bounded struct {
	Place
	limit time.Duration
}

// List implements Place.
func (b bounded) List(ctx context.Context, folder string) ([]string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return within(ctx, b.limit, func() ([]string, error) { return b.Place.List(ctx, folder) }, nil)
}

// Open implements Place.
func (b bounded) Open(ctx context.Context, name string) (Object, error) {
	ctx, cancel := context.WithCancel(ctx)
	object, err := within(ctx, b.limit, func() (Object, error) { return b.Place.Open(ctx, name) }, func(late Object) { _ = late.Close() })
	if err != nil {
		cancel()
		return nil, err
	}
	return boundedObject{object, ctx, cancel, b.limit}, nil
}

type boundedObject struct {
	Object
	ctx    context.Context // the context of its reads
	cancel context.CancelFunc
	limit  time.Duration
}

// ReadAt implements io.ReaderAt.
func (o boundedObject) ReadAt(data []byte, offset int64) (int, error) {
	return within(o.ctx, o.limit, func() (int, error) { return o.Object.ReadAt(data, offset) }, nil)
}

// Close implements io.Closer. It ends the reads that nobody waits for.
func (o boundedObject) Close() error {
	o.cancel()
	return o.Object.Close()
}

// within calls ask and waits for its answer, until the limit or the end of ctx. It gives a late
// answer to discard, unless that is nil.
func within[T any](ctx context.Context, limit time.Duration, ask func() (T, error), discard func(T)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	answered := make(chan answer, 1)
	go func() {
		value, err := ask()
		answered <- answer{value, err}
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	var err error
	select {
	case a := <-answered:
		return a.value, a.err
	case <-ctx.Done():
		err = ctx.Err()
	case <-timer.C:
		err = fmt.Errorf("the store does not answer within %s", limit)
	}
	if discard != nil {
		go func() {
			if late := <-answered; late.err == nil {
				discard(late.value)
			}
		}()
	}
	var none T
	return none, err
}
