package promote

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/store"
)

// Promoted is the promotion that made the live tables live.
type Promoted struct {
	Live store.Schema
	At   time.Time // by the database's clock
	Told bool      // the command that did it has said so; else it may have been killed before

	from   string // the name before; empty: they were made live
	tables store.TablesID
}

// answerWait is how long a command asks whether its promotion was committed, after the
// connection broke. It covers the promotion's own time-outs, after which Postgres gives
// the lock back.
const answerWait = 40 * time.Second

// before says whether a command that is to promote the store's schema finds that
// done. The live tables had that name until they were promoted, and either nothing bears
// it now, or it is PreviousSchema's, which always leads somewhere, and the command that
// promoted them may not have said so. A promotion that is being committed is waited for.
func before(ctx context.Context, s *store.Store) (Promoted, bool, error) {
	if _, err := s.SchemaNamed(ctx, store.LiveSchema); errors.Is(err, store.ErrNoSchema) {
		return Promoted{}, false, nil
	}
	if err := s.Migrate(ctx); err != nil {
		return Promoted{}, false, err
	}
	last, err := Last(ctx, s)
	if err != nil || last.from != s.Schema() {
		return Promoted{}, false, err
	}
	if s.Schema() == store.PreviousSchema {
		return last, !last.Told, nil
	}
	_, err = s.SchemaNamed(ctx, s.Schema())
	if errors.Is(err, store.ErrNoSchema) {
		return last, true, nil
	}
	return Promoted{}, false, err
}

// Tell notes that the command which promoted the live tables has said so.
func Tell(ctx context.Context, s *store.Store) error {
	return answered(ctx, s, func(ctx context.Context) error {
		_, err := s.Pool().Exec(ctx, "update payfold.schema_state set told_at = now() where schema_name = $1 and told_at is null", store.LiveSchema)
		if err != nil {
			return fmt.Errorf("note that the promotion was told: %w", err)
		}
		return nil
	})
}

// becameLive finds out whether the commit of a promotion of these tables, which broke
// off with that cause, took effect. It returns nil where it did.
func becameLive(ctx context.Context, s *store.Store, tables store.TablesID, cause error) error {
	last, err := Last(context.WithoutCancel(ctx), s)
	switch {
	case err != nil:
		return fmt.Errorf("the connection broke while the promotion was committed (%w), and whether it was is not known (%w); the same command again tells", cause, err)
	case last.tables != tables:
		return fmt.Errorf("%w: the commit failed: %w", ErrNotPromoted, cause)
	}
	return nil
}

// answered asks again on another connection, as long as connections break.
func answered(ctx context.Context, s *store.Store, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	for {
		err := ask(ctx)
		if err == nil || !store.ConnectionLost(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(store.LockTry):
		}
	}
}

// Last waits until no promotion is under way. ErrNoSchema where nothing is live.
func Last(ctx context.Context, s *store.Store) (last Promoted, err error) {
	err = answered(ctx, s, func(ctx context.Context) error {
		return pgx.BeginFunc(ctx, s.Pool(), func(tx pgx.Tx) error { return readPromotion(ctx, tx, &last) })
	})
	if err != nil {
		return last, fmt.Errorf("read the last promotion: %w", err)
	}
	return last, nil
}

func readPromotion(ctx context.Context, tx pgx.Tx, into *Promoted) error {
	if _, err := tx.Exec(ctx, "select set_config('lock_timeout', $1, true)", store.Milliseconds(answerWait)); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "select pg_advisory_xact_lock_shared($1)", int64(store.PromoteLock)); err != nil {
		return err
	}
	all, err := store.SchemasIn(ctx, tx)
	if err != nil {
		return err
	}
	if into.Live, err = store.SchemaIn(all, store.LiveSchema); err != nil {
		return err
	}
	return tx.QueryRow(ctx, `select coalesce(promoted_from, ''), coalesce(promoted_at, created_at), told_at is not null, to_regclass($2)::oid
		from payfold.schema_state where schema_name = $1`, store.LiveSchema, store.Qualified(store.LiveSchema, "processed_event")).
		Scan(&into.from, &into.At, &into.Told, &into.tables)
}
