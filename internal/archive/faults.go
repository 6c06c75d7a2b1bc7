package archive

import (
	"context"
	"slices"

	"github.com/payfold/payfold/internal/backoff"
)

// failed logs a fault once, until it changes or has passed.
func (a *Archiver) failed(ctx context.Context, err error) {
	a.metrics.failures.Inc()
	switch {
	case !a.fault.IsNew(err):
	case isContradiction(err), a.unsafe != nil:
		a.Logger.ErrorContext(ctx, "nothing is archived any more, and the archive stays as it is; deliveries are not affected", "archive", a.Place.String(), "error", err)
	default:
		a.Logger.WarnContext(ctx, "the archive cannot be written now; deliveries are not affected", "archive", a.Place.String(), "error", err)
	}
}

// logRecovery logs that the archive works again, if a fault was logged. The next fault is logged
// again.
func (a *Archiver) logRecovery(ctx context.Context) {
	if a.fault.Clear() {
		a.Logger.InfoContext(ctx, "the archive is written again", "archive", a.Place.String())
	}
}

// foundDamage notes damage that a merge has found. Nothing is merged any more, so damaged segments stay as they are.
func (a *Archiver) foundDamage(ctx context.Context, damage error) {
	a.archive.faults = append(a.archive.faults, damage)
	a.logDamage(ctx, a.archive.faults)
}

// logDamage counts the faults, and logs each once, because after an error the archive is opened
// again and again.
func (a *Archiver) logDamage(ctx context.Context, faults []error) {
	a.metrics.faults.Set(float64(len(faults)))
	for _, fault := range faults {
		if slices.Contains(a.damage, fault.Error()) {
			continue
		}
		a.damage = append(a.damage, fault.Error())
		a.Logger.ErrorContext(ctx, "the archive is damaged; new segments are still written; to mend it: ingest archive --heal", "archive", a.Place.String(), "error", fault)
	}
}

// logStay logs once, until a segment is removed again, that parts of merged segments cannot be
// removed. That is no fault of archiving: the merged segment holds everything that they hold.
func (a *Archiver) logStay(ctx context.Context, name string, err error) {
	if a.stayLogged || ctx.Err() != nil {
		return
	}
	a.stayLogged = true
	a.Logger.WarnContext(ctx, "small segments that were merged cannot be removed, and stay; give ingest the right to delete", "archive", a.Place.String(), "segment", name, "error", err)
}

// warnBehind runs until ctx ends. It warns once each time the archive has fallen behind the log.
func (a *Archiver) warnBehind(ctx context.Context) {
	pause := backoff.Every(a.PollInterval)
	for warned := false; ; {
		state := a.State()
		behind := state.LagSeconds > (behindIntervals * a.Interval).Seconds()
		if behind && !warned {
			a.Logger.WarnContext(ctx, "the archive is behind the log", "messages", state.LagMessages, "seconds", int64(state.LagSeconds), "archive", a.Place.String(), "last_error", state.LastError)
		}
		warned = behind
		if pause.Wait(ctx) != nil {
			return
		}
	}
}
