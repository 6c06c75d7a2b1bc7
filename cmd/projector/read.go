package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/payfold/payfold/internal/store"
)

// readFlags are the flags of a command that reads what the projectors have made.
type readFlags struct {
	sourceFlags
	JSON bool `name:"json" help:"JSON: one object, or one a line for lists."`
}

// readTimeout is the time after which Postgres frees what a frozen reader holds, such as its snapshot.
const readTimeout = 10 * time.Second

// databaseTimeout limits the wait until the database answers for the first time. A private Postgres
// may be starting still, by this process or another.
const databaseTimeout = 15 * time.Second

var errNoAnswer = errors.New("the database does not answer")

// read calls work with the tables. It does not create a private Postgres.
func (f *readFlags) read(ctx context.Context, logger *slog.Logger, work func(context.Context, *store.Store) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	late := time.AfterFunc(databaseTimeout, func() { cancel(errNoAnswer) })
	defer late.Stop()
	err := f.withTables(ctx, store.Config{FrozenAfter: readTimeout}, logger, func(ctx context.Context, database *store.Store) error {
		if err := database.Ping(ctx); err != nil {
			return fmt.Errorf("%w: %w", errNoAnswer, err)
		}
		late.Stop()
		return work(ctx, database)
	})
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, errNoAnswer) {
		return cause
	}
	return err
}
