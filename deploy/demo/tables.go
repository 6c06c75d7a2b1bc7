package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/payfold/payfold/internal/localpg"
	"github.com/payfold/payfold/internal/store"
)

// tables are those of the projector, to see what became of the events.
type tables struct{ db *pgx.Conn }

// open connects to the database of a projector: that of dsn, or the private one of make run in the data directory. It
// listens for changes.
func open(ctx context.Context, dsn, dataDir string) (*tables, error) {
	if dsn == "" {
		var err error
		if dsn, err = localpg.DSN(dataDir); err != nil {
			return nil, fmt.Errorf("no database of a projector (%w): set DATA_DIR or DATABASE_URL as for make run", err)
		}
	}
	db, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return nil, fmt.Errorf("connect to the database of the projector: %w", err)
	}
	if _, err := db.Exec(ctx, "listen "+store.Changed); err != nil {
		return nil, err
	}
	t := &tables{db}
	if _, err := t.applied(ctx, nil); err != nil {
		return nil, fmt.Errorf("there are no tables of a projector in its database: %w", err)
	}
	return t, nil
}

// applied returns how many of the events the tables have.
func (t *tables) applied(ctx context.Context, ids []string) (n int, err error) {
	err = t.db.QueryRow(ctx, "select count(*) from portal.processed_event where event_id = any($1)", ids).Scan(&n)
	return n, err
}

// timeOf returns the provider's time of an event; zero if the tables do not have it.
func (t *tables) timeOf(ctx context.Context, id string) (at time.Time, err error) {
	err = t.db.QueryRow(ctx, "select occurred_at from portal.processed_event where event_id = $1", id).Scan(&at)
	if errors.Is(err, pgx.ErrNoRows) {
		err = nil
	}
	return at, err
}

const (
	// A batch that changes no user sends no notification, so look also without one.
	lookInterval = time.Second
	// A projector that applies nothing for so long does not run, or has stopped.
	idleTimeout = time.Minute
)

// await waits until the tables have all of the events.
func (t *tables) await(ctx context.Context, ids []string) error {
	applied, since := -1, time.Now()
	for {
		n, err := t.applied(ctx, ids)
		switch {
		case err != nil:
			return err
		case n == len(ids):
			return nil
		case n > applied:
			applied, since = n, time.Now()
		case time.Since(since) > idleTimeout:
			return fmt.Errorf("the projector has applied %d of %d events, and no more for %s: see bin/projector status",
				n, len(ids), idleTimeout)
		}
		waiting, cancel := context.WithTimeout(ctx, lookInterval)
		_, err = t.db.WaitForNotification(waiting)
		cancel()
		if err != nil && !pgconn.Timeout(err) {
			return err
		}
	}
}

// outcome is what became of some events.
type outcome struct {
	Outcome string `db:"outcome"`
	Reason  string `db:"reason"`
	Events  int    `db:"events"`
}

// outcomes counts the events by their outcomes.
func (t *tables) outcomes(ctx context.Context, ids []string) ([]outcome, error) {
	rows, err := t.db.Query(ctx, `
		select outcome, coalesce(reason, '') as reason, count(*) as events
		from portal.processed_event
		where event_id = any($1)
		group by outcome, reason
		order by outcome, reason nulls first`, ids)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[outcome])
}
