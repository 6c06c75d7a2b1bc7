package promote

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/identity"
	"github.com/payfold/payfold/internal/rebuild"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
)

// Promotion makes the tables of a rebuild the live ones, while projectors and readers
// continue.
type Promotion struct {
	rebuild.Rebuild              // of the tables to be promoted
	Live            *store.Store // on the same database
	AcceptLogLoss   bool
	Now             func() time.Time // measures rounds; nil: time.Now. Only tests set it
}

// quickRound is how long a round of folding may take. Then the next round, for which live
// projectors wait, is short.
const quickRound = 2 * time.Second

// maxRounds bounds the rounds if events come faster than they are folded.
const maxRounds = 10

// Check returns ErrNotPromoted if Run would refuse the promotion now. If the candidate exists
// and there are no live tables, it makes empty ones.
func (p *Promotion) Check(ctx context.Context) error {
	info, err := p.Log.Info(ctx)
	if err != nil {
		return err
	}
	err = check(ctx, p.Store, p.terms(info))
	if errors.Is(err, store.ErrNotPrepared) {
		// A rebuild can fill a database that was lost.
		if err := p.Live.Prepare(ctx, info.LogID, info.Partitions, p.Rules); err != nil {
			return err
		}
		err = check(ctx, p.Store, p.terms(info))
	}
	if err != nil {
		return err
	}
	if err := checkQuarantined(ctx, p.Store, p.Store.Pool(), foldedBefore, releasedSince); err != nil {
		return err
	}
	return p.checkLive(ctx, info)
}

// Run brings the candidate up to the head and makes it live. After an error the live tables have
// not changed, and the candidate may have a later position. Only if the connection broke at the
// commit and the database does not answer, the outcome is unknown. Then the error says so.
func (p *Promotion) Run(ctx context.Context) error {
	if err := p.Check(ctx); err != nil {
		return err
	}
	p.Stage = tables.InUse
	now := p.Now
	if now == nil {
		now = time.Now
	}
	var info eventlog.Info
	for round := range maxRounds {
		var err error
		if info, err = p.Log.Info(ctx); err != nil {
			return err
		}
		begin := now()
		if err := p.Rebuild.Run(ctx, info.Last); err != nil {
			return err
		}
		if round == 0 {
			if err := p.Store.Analyze(ctx); err != nil {
				return err
			}
			if !p.AcceptLogLoss {
				if err := checkMarks(ctx, p.Store); err != nil {
					return err
				}
			}
		}
		if now().Sub(begin) < quickRound {
			break
		}
	}
	return makeLive(ctx, p.Store, p.terms(info))
}

func (p *Promotion) terms(info eventlog.Info) terms {
	return terms{FoldID: p.Rules.FoldID(), First: info.First, AcceptLogLoss: p.AcceptLogLoss, CatchUp: p.catchUp, Within: store.HoldTimeout}
}

func (p *Promotion) catchUp(ctx context.Context, head uint64) error {
	info, err := p.Log.Info(ctx)
	if err != nil {
		return err
	}
	if head > info.Last && !p.AcceptLogLoss {
		return fmt.Errorf("%w: the log ends at seq %d, the live tables hold seq %d; projector promote --accept-log-loss gives up what the log has lost",
			ErrNotPromoted, info.Last, head)
	}
	return p.Rebuild.Run(ctx, min(head, info.Last))
}

// checkLive makes sure that the log still has every message of the live tables, because the
// candidate is folded from the log alone.
func (p *Promotion) checkLive(ctx context.Context, info eventlog.Info) error {
	if p.AcceptLogLoss {
		return nil
	}
	_, err := identity.Check(ctx, p.Log, p.Live, info)
	if errors.Is(err, identity.ErrLogLost) {
		return fmt.Errorf("%w: of the live tables: %w; projector promote --accept-log-loss gives up what the log has lost", ErrNotPromoted, err)
	}
	return err
}
