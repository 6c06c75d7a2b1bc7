package browse

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/store"
)

// Moment says which moment of which tables an answer shows.
type Moment struct {
	At       time.Time `json:"at"` // by the database's clock
	Schema   string    `json:"schema"`
	Until    *int64    `json:"until_seq"` // the message at which the tables end; nil: there is no such end
	Position int64     `json:"position"`  // every message up to it is applied

	UntilAt time.Time `json:"-"` // see EndOf

	indexed bool // the events have an index by sequence
}

// isLive reports whether the tables are those whose grants apps spend.
func (m Moment) isLive() bool { return m.Schema == store.LiveSchema }

// ErrNotIndexed means that tables which a rebuild fills cannot be read event by event. Their
// indexes are made at the end of a rebuild with --until, or by a promotion.
var ErrNotIndexed = errors.New("these tables have no index of their events; a promotion makes it, and a rebuild --until at its end")

// inOrderOfIndexes makes Postgres read lists from indexes, in their order, so that it ends when a
// page is full. Its own choice depends on statistics, which may be older than most of the rows.
const inOrderOfIndexes = `select set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
	set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true), set_config('max_parallel_workers_per_gather', '0', true)`

// view calls read in one store.View.
func view[T any](ctx context.Context, db *store.Store, read func(context.Context, pgx.Tx, Moment) (T, error)) (out T, err error) {
	err = db.View(ctx, func(ctx context.Context, tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, inOrderOfIndexes); err != nil {
			return err
		}
		now, err := readMoment(ctx, tx, db.Schema())
		if err != nil {
			return err
		}
		out, err = read(ctx, tx, now)
		return err
	})
	return out, err
}

// viewEvents is view, but returns ErrNotIndexed if the events have no index.
func viewEvents[T any](ctx context.Context, db *store.Store, read func(context.Context, pgx.Tx, Moment) (T, error)) (T, error) {
	return view(ctx, db, func(ctx context.Context, tx pgx.Tx, now Moment) (none T, err error) {
		if !now.indexed {
			return none, fmt.Errorf("schema %s: %w", now.Schema, ErrNotIndexed)
		}
		return read(ctx, tx, now)
	})
}

// EndOf returns the message at which the tables end, and when ingest received the newest event up to there; nil if there is
// no such end.
func EndOf(ctx context.Context, db *store.Store) (until *int64, received time.Time, err error) {
	var at *time.Time
	err = db.View(ctx, func(ctx context.Context, tx pgx.Tx) error {
		err := tx.QueryRow(ctx, `select until_seq, (
				select received_at from processed_event where stream_seq <= until_seq order by stream_seq desc limit 1)
			from payfold.schema_state where schema_name = $1`, db.Schema()).Scan(&until, &at)
		if errors.Is(err, pgx.ErrNoRows) {
			return store.NoSchema(db.Schema())
		}
		return err
	})
	if at != nil {
		received = *at
	}
	return until, received, err
}

func readMoment(ctx context.Context, tx pgx.Tx, schema string) (Moment, error) {
	out := Moment{Schema: schema}
	err := tx.QueryRow(ctx, `select now(), until_seq, (select coalesce(min(position), 0) from checkpoint),
		to_regclass('processed_event_stream_seq') is not null
		from payfold.schema_state where schema_name = $1`, schema).Scan(&out.At, &out.Until, &out.Position, &out.indexed)
	if errors.Is(err, pgx.ErrNoRows) {
		return Moment{}, store.NoSchema(schema)
	}
	if err != nil {
		return Moment{}, fmt.Errorf("read the moment: %w", err)
	}
	return out, nil
}
