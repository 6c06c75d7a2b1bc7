package invitations

import (
	"context"
	"time"

	"github.com/payfold/payfold/internal/backoff"
	"github.com/payfold/payfold/internal/store"
)

const (
	// tick is how often it is looked whether something is due.
	tick = time.Second
	// scanEvery is how often all purchases are read, for what no notification
	// tells: a promotion, or a change while nobody listened.
	scanEvery = 30 * time.Second
	// scanShare keeps the database free for others: a scan of all waits for that
	// many times as long as the one before took.
	scanShare = 20
	// measureEvery is how often the gauges are set.
	measureEvery = 10 * time.Second
)

// Back-off after a fault of the database.
const (
	minBackOff = 100 * time.Millisecond
	maxBackOff = time.Second
)

// Run invites until ctx ends, then returns nil; an attempt under way is broken
// off, and the next process finds out what it did. Faults of the database are
// logged once each and waited out.
func (r *Reconciler) Run(ctx context.Context) error {
	right := r.Repository
	if r.gitHub == nil {
		right = "" // whoever can invite is not kept from it
		r.Logger.InfoContext(ctx, "no GitHub credentials: invitations wait as pending",
			"set", "INVITE_REPOSITORY and INVITE_GITHUB_TOKEN, or an App")
	}
	wait, lastLogged := backoff.Backoff{Min: minBackOff, Max: maxBackOff}, ""
	for {
		began := time.Now()
		err := r.records.lead(ctx, right, r.serve)
		r.standDown()
		if ctx.Err() != nil {
			return nil
		}
		if time.Since(began) > maxBackOff {
			lastLogged = ""
			wait.Reset()
		}
		if err != nil && !store.NotPrepared(err) && err.Error() != lastLogged {
			r.Logger.WarnContext(ctx, "the inviter waits and tries again", "error", err)
			lastLogged = err.Error()
		}
		if wait.Wait(ctx) != nil {
			return nil
		}
	}
}

// serve invites while this process has the right to.
func (r *Reconciler) serve(ctx context.Context, changed <-chan []string) error {
	r.strikes = 0
	if r.gitHub != nil { // whoever starts anew may have been given other credentials
		if err := r.records.endPause(ctx, r.Repository, PauseDenied); err != nil {
			return err
		}
	}
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	var scanAll, measure time.Time // when it is time to
	for ctx.Err() == nil {
		if began := time.Now(); began.After(scanAll) {
			if err := r.scan(ctx, nil); err != nil {
				return err
			}
			scanAll = time.Now().Add(max(r.every, scanShare*time.Since(began)))
		}
		worked, err := r.next(ctx)
		if err != nil {
			return err
		}
		if time.Now().After(measure) {
			if err := r.measure(ctx); err != nil {
				return err
			}
			measure = time.Now().Add(measureEvery)
		}
		if err := r.await(ctx, changed, ticker.C, worked); err != nil {
			return err
		}
	}
	return nil
}

// await waits for something to do, unless there is more already, and takes up
// the purchases that have changed.
func (r *Reconciler) await(ctx context.Context, changed <-chan []string, tick <-chan time.Time, more bool) error {
	var users []string
	if more {
		select {
		case users = <-changed:
		default:
			return nil
		}
	} else {
		select {
		case users = <-changed:
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
	return r.scan(ctx, users)
}
