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
)

// Promotion makes the tables of a rebuild the live ones, beside live projectors
// and readers.
type Promotion struct {
	rebuild.Rebuild              // of the tables to be promoted
	Live            *store.Store // on the same database
	AcceptLogLoss   bool
}

// quickRound is a round of folding that leaves so little to the next, for which
// the live projectors wait, that it is done well within their time.
const quickRound = 2 * time.Second

// mostRounds bounds that where events come more quickly than they are folded.
const mostRounds = 10

// Check says what is in the way already now, as Run would: ErrNotPromoted. It
// makes empty live tables where there are none and there is something to promote.
func (p *Promotion) Check(ctx context.Context) error {
	info, err := p.Log.Info(ctx)
	if err != nil {
		return err
	}
	err = check(ctx, p.Store, p.terms(info))
	if errors.Is(err, store.ErrNotPrepared) {
		// There are no live tables: a database that was lost can be filled by a rebuild.
		if err := p.Live.Prepare(ctx, info.LogID, info.Partitions, p.Rules); err != nil {
			return err
		}
		err = check(ctx, p.Store, p.terms(info))
	}
	if err != nil {
		return err
	}
	return p.checkLive(ctx, info)
}

// Run brings the tables up to the head and makes them live. After an error the
// live tables are as they were; the others may have come further.
func (p *Promotion) Run(ctx context.Context) error {
	if err := p.Check(ctx); err != nil {
		return err
	}
	p.LiveIndexes = true
	var info eventlog.Info
	for round := range mostRounds {
		var err error
		if info, err = p.Log.Info(ctx); err != nil {
			return err
		}
		begin := time.Now()
		if err := p.Rebuild.Run(ctx, info.Last); err != nil {
			return err
		}
		if round == 0 {
			if err := p.Store.Analyze(ctx); err != nil {
				return err
			}
		}
		if time.Since(begin) < quickRound {
			break
		}
	}
	return makeLive(ctx, p.Store, p.terms(info))
}

func (p *Promotion) terms(info eventlog.Info) terms {
	return terms{FoldID: p.Rules.FoldID(), First: info.First, AcceptLogLoss: p.AcceptLogLoss, CatchUp: p.catchUp}
}

func (p *Promotion) catchUp(ctx context.Context, head uint64) error {
	info, err := p.Log.Info(ctx)
	if err != nil {
		return err
	}
	if head > info.Last && !p.AcceptLogLoss {
		return fmt.Errorf("%w: the log ends at seq %d, the live tables hold seq %d; --accept-log-loss gives up what the log has lost",
			ErrNotPromoted, info.Last, head)
	}
	return p.Rebuild.Run(ctx, min(head, info.Last))
}

// checkLive: what the live tables hold must be in the log still, for the
// candidate has nothing else.
func (p *Promotion) checkLive(ctx context.Context, info eventlog.Info) error {
	if p.AcceptLogLoss {
		return nil
	}
	_, err := identity.Check(ctx, p.Log, p.Live, info)
	if errors.Is(err, identity.ErrLogLost) {
		return fmt.Errorf("%w: of the live tables: %w; --accept-log-loss gives up what the log has lost", ErrNotPromoted, err)
	}
	return err
}
