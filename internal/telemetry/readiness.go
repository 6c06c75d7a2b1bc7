package telemetry

import (
	"context"
	"errors"
	"sync/atomic"
)

// Readiness says whether a program can do its work now. A new one says that the program is
// starting. Safe for concurrent use.
type Readiness struct {
	check atomic.Pointer[func(context.Context) error]
}

// NewReadiness returns the readiness of a program that is starting.
func NewReadiness() *Readiness {
	r := &Readiness{}
	r.NotYet("starting")
	return r
}

// NotYet says what the program does before it can work.
func (r *Readiness) NotYet(reason string) {
	r.From(func(context.Context) error { return errors.New(reason) })
}

// From makes check answer from now on.
func (r *Readiness) From(check func(context.Context) error) { r.check.Store(&check) }

// Ready returns why the program cannot do its work now, or nil.
func (r *Readiness) Ready(ctx context.Context) error { return (*r.check.Load())(ctx) }
