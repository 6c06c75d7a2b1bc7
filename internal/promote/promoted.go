package promote

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/backoff"
	"github.com/payfold/payfold/internal/store"
)

// Promoted is the promotion that made the current live tables live.
type Promoted struct {
	Live     store.Schema
	At       time.Time // by the database's clock
	Reported bool      // its command has reported it; otherwise the command may have been killed

	from   string // the former name of the schema; empty: it was live from the beginning
	tables store.TablesID
}

// answerTimeout is how long a command asks whether its promotion was committed, after the
// connection broke. It is longer than the timeouts of the promotion, after which Postgres releases
// the lock.
const answerTimeout = 40 * time.Second

// promotedBefore reports whether an earlier command has promoted the store's schema. Then the live
// tables had its name before, and no schema has the name now. store.PreviousSchema exists after
// every promotion. For this name, the promotion counts if no command has reported it.
// promotedBefore waits for a promotion that is being committed.
func promotedBefore(ctx context.Context, s *store.Store) (Promoted, bool, error) {
	if _, err := s.SchemaNamed(ctx, store.LiveSchema); errors.Is(err, store.ErrNoSchema) {
		return Promoted{}, false, nil
	}
	if err := s.Migrate(ctx); err != nil {
		return Promoted{}, false, err
	}
	last, err := lastPromotion(ctx, s)
	if err != nil || last.from != s.Schema() {
		return Promoted{}, false, err
	}
	if s.Schema() == store.PreviousSchema {
		return last, !last.Reported, nil
	}
	_, err = s.SchemaNamed(ctx, s.Schema())
	if errors.Is(err, store.ErrNoSchema) {
		return last, true, nil
	}
	return Promoted{}, false, err
}

// Tell records that a command has reported the last promotion.
func Tell(ctx context.Context, s *store.Store) error {
	return answered(ctx, func(ctx context.Context) error {
		_, err := s.Pool().Exec(ctx, "update payfold.schema_state set reported_at = now() where schema_name = $1 and reported_at is null", store.LiveSchema)
		if err != nil {
			return fmt.Errorf("record that the promotion was reported: %w", err)
		}
		return nil
	})
}

// becameLive returns nil if the commit that made these tables live took effect, although
// its connection broke with that cause.
func becameLive(ctx context.Context, s *store.Store, tables store.TablesID, cause error) error {
	last, err := lastPromotion(context.WithoutCancel(ctx), s)
	switch {
	case err != nil:
		return fmt.Errorf("the connection broke at the commit of the promotion (%w), and its outcome is unknown (%w); run the same command again", cause, err)
	case last.tables != tables:
		return fmt.Errorf("%w: the commit failed: %w", ErrNotPromoted, cause)
	}
	return nil
}

// answered repeats ask on another connection while connections break.
func answered(ctx context.Context, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	retry := backoff.Every(store.LockRetryInterval)
	for {
		err := ask(ctx)
		if err == nil || !store.ConnectionLost(err) || retry.Wait(ctx) != nil {
			return err
		}
	}
}

// lastPromotion waits for a promotion under way, and returns the last promotion. The error is
// store.ErrNoSchema if there are no live tables.
func lastPromotion(ctx context.Context, s *store.Store) (last Promoted, err error) {
	err = answered(ctx, func(ctx context.Context) error {
		return pgx.BeginFunc(ctx, s.Pool(), func(tx pgx.Tx) error { return readPromotion(ctx, tx, &last) })
	})
	if err != nil {
		return last, fmt.Errorf("read the last promotion: %w", err)
	}
	return last, nil
}

func readPromotion(ctx context.Context, tx pgx.Tx, into *Promoted) error {
	if _, err := tx.Exec(ctx, "select set_config('lock_timeout', $1, true)", store.Milliseconds(answerTimeout)); err != nil {
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
	return tx.QueryRow(ctx, `select coalesce(promoted_from, ''), coalesce(promoted_at, created_at), reported_at is not null, to_regclass($2)::oid
		from payfold.schema_state where schema_name = $1`, store.LiveSchema, store.Qualified(store.LiveSchema, "processed_event")).
		Scan(&into.from, &into.At, &into.Reported, &into.tables)
}
