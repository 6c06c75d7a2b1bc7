package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/promote"
	"github.com/payfold/payfold/internal/rebuild"
	"github.com/payfold/payfold/internal/report"
	"github.com/payfold/payfold/internal/store"
)

// build is the work on one schema beside the live one. Nobody else works on it
// as long as it is locked.
type build struct {
	sources
	schema   string
	info     eventlog.Info
	progress *report.Progress
	rebuild  rebuild.Rebuild
	unlock   func()
}

// grace is how long a rebuild that is interrupted may take to save what it has folded.
const grace = 10 * time.Second

func newBuild(ctx context.Context, s sources, schema string, rules projections.Rules, progress *report.Progress, logger *slog.Logger) (*build, error) {
	b := &build{sources: s, schema: schema, progress: progress}
	b.rebuild = rebuild.Rebuild{Log: b.log, Store: b.store, Rules: rules, Logger: logger, Progress: progress.At, Grace: grace}
	var err error
	if b.info, err = s.info(ctx); err != nil {
		return nil, err
	}
	if b.unlock, err = s.store.LockSchema(ctx); err != nil {
		return nil, err
	}
	return b, nil
}

// run brings the schema's tables, which are there, up to that message.
func (b *build) run(ctx context.Context, until uint64) error {
	defer b.progress.End()
	return b.left(ctx, b.rebuild.Run(ctx, until))
}

// before says whether the schema was promoted already, under the command's own rules.
// What nobody was told of counts as well; with untold nothing else does.
func (b *build) before(ctx context.Context, untold bool) (bool, error) {
	last, done, err := promote.Before(ctx, b.store)
	switch {
	case err != nil || !done || untold && last.Told || last.Live.LogID != b.info.LogID:
		return false, err
	case last.Live.FoldID == b.rebuild.Rules.FoldID():
		return true, nil
	case untold || b.schema == store.PreviousSchema:
		return false, nil
	}
	return false, fmt.Errorf("%s is live already: %w", b.schema, store.FoldedOtherwise(store.LiveSchema, last.Live.FoldID, b.rebuild.Rules.FoldID()))
}

// promotion calls one of Promote's methods for the schema.
func (b *build) promotion(ctx context.Context, acceptLogLoss bool, call func(*promote.Promotion, context.Context) error) error {
	live, err := b.store.Beside(ctx, store.LiveSchema)
	if err != nil {
		return err
	}
	defer live.Close()
	defer b.progress.End()
	rebuild := b.rebuild
	rebuild.Grace = 0 // others may be waiting
	return b.left(ctx, call(&promote.Promotion{Rebuild: rebuild, Live: live, AcceptLogLoss: acceptLogLoss}, ctx))
}

// askAfter is for one more question after the command was interrupted.
const askAfter = time.Second

// left says where work that was interrupted stands.
func (b *build) left(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askAfter)
	defer cancel()
	schema, asked := b.store.SchemaNamed(ctx, b.schema)
	if asked != nil {
		return errors.New("interrupted; the same command goes on where it was")
	}
	return fmt.Errorf("interrupted; %s holds everything up to seq %d, and the same command goes on from there", schema.Name, schema.Position)
}
