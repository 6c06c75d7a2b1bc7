package providerapi

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// watch says what is waited for.
type watch struct {
	after time.Duration
	mu    sync.Mutex
	say   func(what string)
}

type watchKey struct{}

// Watch returns a context for a person who waits. say is told about each request that has had no answer after that time,
// and about a wait before a request is repeated, if the request then takes longer than that. There is one call of say at a
// time, and none after the request.
func Watch(ctx context.Context, after time.Duration, say func(what string)) context.Context {
	return context.WithValue(ctx, watchKey{}, &watch{after: after, say: say})
}

// During does what may take long. If it does, the watch of ctx is told what it is.
func During(ctx context.Context, what string, do func()) {
	w, _ := ctx.Value(watchKey{}).(*watch)
	if w == nil {
		do()
		return
	}
	said := make(chan struct{})
	timer := time.AfterFunc(w.after, func() {
		defer close(said)
		w.tell(fmt.Sprintf("%s for %s", what, w.after))
	})
	do()
	if !timer.Stop() {
		<-said
	}
}

// waiting tells the watch of ctx what is waited for, if the request takes that long.
func waiting(ctx context.Context, takes time.Duration, what string) {
	if w, _ := ctx.Value(watchKey{}).(*watch); w != nil && takes >= w.after {
		w.tell(what)
	}
}

func (w *watch) tell(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.say(what)
}
