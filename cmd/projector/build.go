package main

import (
	"context"
	"log/slog"

	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/projector"
	"github.com/payfold/payfold/internal/store"
)

// build is the work on one schema beside the live one. Nobody else works on it
// as long as it is locked.
type build struct {
	sources
	rules    projections.Rules
	info     eventlog.Info
	progress *progress
	logger   *slog.Logger
	unlock   func()
}

func newBuild(ctx context.Context, s sources, rules projections.Rules, progress *progress, logger *slog.Logger) (*build, error) {
	b := &build{sources: s, rules: rules, progress: progress, logger: logger}
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
	rebuild := projector.Rebuild{Log: b.log, Store: b.store, Rules: b.rules, Logger: b.logger, Progress: b.progress.at}
	defer b.progress.end()
	return rebuild.Run(ctx, until)
}

// promote makes the schema the live one. Most of what is missing is folded
// before anybody has to wait.
func (b *build) promote(ctx context.Context, acceptLogLoss bool) error {
	info, err := b.log.Info(ctx)
	if err != nil {
		return err
	}
	if err := b.run(ctx, info.Last); err != nil {
		return err
	}
	return b.store.Promote(ctx, store.Promotion{
		FoldID: b.rules.FoldID(), First: info.First, AcceptLogLoss: acceptLogLoss,
		CatchUp: func(ctx context.Context, head uint64) error {
			if acceptLogLoss {
				head = min(head, info.Last)
			}
			return b.run(ctx, head)
		},
	})
}
