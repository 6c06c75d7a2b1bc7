package invitations

import (
	"context"
	"time"

	"github.com/payfold/payfold/internal/backoff"
	"github.com/payfold/payfold/internal/store"
)

const (
	// dueInterval is how often the leader looks for invitations that are due.
	dueInterval = time.Second
	// defaultScanInterval is how often all purchases are read. This finds changes without
	// a notification: a promotion, or a change while no process listened.
	defaultScanInterval = 30 * time.Second
	// scanPauseFactor limits the load of scans: the next one waits at least this many times as
	// long as one took. While projectors work off a backlog, each batch notifies.
	scanPauseFactor = 20
	// maxRest bounds how late an invitation is after a scan that took long because it waited for a
	// lock or a slow database.
	maxRest         = 30 * time.Second
	measureInterval = 10 * time.Second // between two updates of the gauges
)

// Back-off after a fault of the database.
const (
	minBackOff = 100 * time.Millisecond
	maxBackOff = time.Second

	// healthyAfter is longer than an attempt to reach the database takes.
	healthyAfter = time.Minute
)

// Run invites until ctx ends, then returns nil. An attempt under way is cancelled, and
// the next process finds out what it did. After an error of the database Run tries
// again; it logs each error once.
func (r *Reconciler) Run(ctx context.Context) error {
	leads := r.Repository
	if r.gitHub == nil {
		leads = "" // without credentials, do not compete for leadership
		r.Logger.InfoContext(ctx, "no GitHub credentials: invitations wait as pending",
			"set", "INVITE_REPOSITORY and INVITE_GITHUB_TOKEN, or an App")
	}
	wait := backoff.Backoff{Min: minBackOff, Max: maxBackOff, Jitter: r.jitter}
	var fault backoff.Fault
	for {
		began := time.Now()
		err := r.records.lead(ctx, leads, r.serve)
		r.clearGauges()
		if ctx.Err() != nil {
			return nil
		}
		if time.Since(began) > maxBackOff {
			wait.Reset()
		}
		if time.Since(began) > healthyAfter {
			fault.Clear()
		}
		if err != nil && !store.NotPrepared(err) && fault.IsNew(err) {
			r.Logger.WarnContext(ctx, "the inviter waits and tries again", "error", store.PoolerOr(err))
		}
		if wait.Wait(ctx) != nil {
			return nil
		}
	}
}

// serve invites while this process is the leader.
func (r *Reconciler) serve(ctx context.Context, changed <-chan []string) error {
	r.consecutiveFailures = 0
	if r.gitHub != nil {
		if err := r.records.resume(ctx); err != nil {
			return err
		}
	}
	ticker := time.NewTicker(dueInterval)
	defer ticker.Stop()
	var nextScan, nextMeasure time.Time
	for ctx.Err() == nil {
		if began := time.Now(); began.After(nextScan) {
			if err := r.records.scan(ctx, nil); err != nil {
				return err
			}
			nextScan = time.Now().Add(max(r.scanInterval, scanPauseFactor*time.Since(began)))
		}
		worked, err := r.next(ctx)
		if err != nil {
			return err
		}
		if time.Now().After(nextMeasure) {
			if err := r.measure(ctx); err != nil {
				return err
			}
			nextMeasure = time.Now().Add(measureInterval)
		}
		if err := r.await(ctx, changed, ticker.C, worked); err != nil {
			return err
		}
	}
	return nil
}

// await waits for a notification or a tick, and scans the purchases that have changed.
// If more attempts may be due, it does not wait. After a scan it leaves notifications in their
// channel until restsUntil.
func (r *Reconciler) await(ctx context.Context, changed <-chan []string, tick <-chan time.Time, more bool) error {
	var users []string
	var rested <-chan time.Time
	if pause := time.Until(r.restsUntil); pause > 0 {
		changed, rested = nil, time.After(pause)
	}
	if more {
		select {
		case users = <-changed:
		default:
			return nil
		}
	} else {
		select {
		case users = <-changed:
		case <-rested:
			return nil
		case <-tick:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
	anyUser := users == nil
	for len(changed) > 0 {
		next := <-changed
		anyUser = anyUser || next == nil
		users = append(users, next...)
	}
	if anyUser {
		users = nil
	}
	began := time.Now()
	err := r.records.scan(ctx, users)
	r.restsUntil = time.Now().Add(restAfter(time.Since(began)))
	return err
}

// restAfter returns how long notifications wait after a scan that took so long.
func restAfter(scan time.Duration) time.Duration { return min(scanPauseFactor*scan, maxRest) }
