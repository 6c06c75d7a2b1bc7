package invitations

import (
	"context"
	"time"

	"github.com/payfold/payfold/internal/store"
)

const (
	// tick is how often it is looked whether something is due.
	tick = time.Second
	// scanEvery is how often the licences are read although nothing told of a
	// change: after a promotion, say. Once more than it takes at worst.
	scanEvery = 30 * time.Second
	// measureEvery is how often the gauges are set.
	measureEvery = 10 * time.Second
	// shareOfScan keeps the database free for others: after a scan the next one
	// waits that many times as long as it took.
	shareOfScan = 10
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
	wait, lastLogged := minBackOff, ""
	for {
		began := time.Now()
		err := r.Store.HoldInviter(ctx, right, r.serve)
		r.standDown()
		if ctx.Err() != nil {
			return nil
		}
		if time.Since(began) > maxBackOff {
			wait, lastLogged = minBackOff, ""
		}
		if err != nil && !store.NotPrepared(err) && err.Error() != lastLogged {
			r.Logger.WarnContext(ctx, "the inviter waits and tries again", "error", err)
			lastLogged = err.Error()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
		wait = min(2*wait, maxBackOff)
	}
}

// serve invites while this process has the right to.
func (r *Reconciler) serve(ctx context.Context, changed <-chan struct{}) error {
	r.strikes = 0
	if r.gitHub != nil { // whoever starts anew may have been given other credentials
		if err := r.Store.EndPause(ctx, r.Repository, store.PauseDenied); err != nil {
			return err
		}
	}
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	var scanned, measured time.Time
	var restUntil time.Time
	wanted := true
	for ctx.Err() == nil {
		select {
		case <-changed:
			wanted = true
		default:
		}
		if now := time.Now(); wanted && now.After(restUntil) || now.Sub(scanned) >= scanEvery {
			wanted = false
			if err := r.scan(ctx); err != nil {
				return err
			}
			scanned = time.Now()
			restUntil = scanned.Add(shareOfScan * scanned.Sub(now))
		}
		worked, err := r.next(ctx)
		if err != nil {
			return err
		}
		if time.Since(measured) >= measureEvery {
			if err := r.measure(ctx); err != nil {
				return err
			}
			measured = time.Now()
		}
		if worked {
			continue
		}
		var rested <-chan time.Time
		if wanted {
			rested = time.After(time.Until(restUntil))
		}
		select {
		case <-ctx.Done():
		case <-rested:
		case <-changed:
			wanted = true
		case <-ticker.C:
		}
	}
	return nil
}
