// Package history reads the tables again and again, as an app does, and remembers what it has read. So a test proves from
// the reads of a whole campaign that no table contradicts another one of the same moment, and that a session never sees
// less than before.
package history

import (
	"context"
	_ "embed"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/backoff"
	"github.com/payfold/payfold/internal/testenv/wait"
)

//go:embed contradictions.sql
var contradictions string

// pause is the time between two reads: a test has the cores for other things, too.
const pause = 20 * time.Millisecond

// Reader is one session. It remembers what may never change again.
type Reader struct {
	Reads     int
	last      error             // that ended a session
	positions map[string]int64  // of each partition of each log
	events    map[string]int64  // the place of each event that has a record
	lines     map[string]string // each ledger line, whole
	parts     map[string]string // each part of a spend, whole
}

// NewReader returns a reader that has read nothing.
func NewReader() *Reader {
	return &Reader{}
}

// Follow reads from that server until end is called, which fails the test if a read contradicted itself or an earlier one.
// A connection that ends is made again, so dsn may lead to another server of the same data then.
func Follow(t testing.TB, name, dsn string) (end func()) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	reader, ended := NewReader(), make(chan error, 1)
	go func() {
		var found error
		for found == nil && ctx.Err() == nil {
			found = reader.session(ctx, dsn)
		}
		ended <- found
	}()
	t.Cleanup(stop)
	return func() {
		t.Helper()
		stop()
		require.NoError(t, <-ended, "what %s read", name)
		require.Positive(t, reader.Reads, "%s: %v", name, reader.last)
		t.Logf("%s: %d reads without a contradiction, the last of %d events, %d ledger lines and %d parts of spends", name,
			reader.Reads, len(reader.events), len(reader.lines), len(reader.parts))
	}
}

// session reads until the connection ends, and returns a contradiction.
func (r *Reader) session(ctx context.Context, dsn string) error {
	connection, err := pgx.Connect(ctx, dsn)
	if err != nil {
		r.last = err
		_ = backoff.Every(pause).Wait(ctx)
		return nil
	}
	defer connection.Close(context.Background())
	for ctx.Err() == nil && !connection.IsClosed() {
		bounded, cancel := context.WithTimeout(ctx, wait.Timeout/10) // a broken network answers nothing
		found, err := r.Read(bounded, connection)
		cancel()
		if len(found) > 0 {
			return fmt.Errorf("read %d: %q", r.Reads, found)
		}
		if err != nil { // the server ended, or is not ready
			r.last = err
			return nil
		}
		_ = backoff.Every(pause).Wait(ctx)
	}
	return nil
}

// Read reads all tables of one moment, and returns what contradicts the rest or an earlier read.
func (r *Reader) Read(ctx context.Context, connection *pgx.Conn) (found []string, err error) {
	positions, events := map[string]int64{}, map[string]int64{}
	lines, parts := map[string]string{}, map[string]string{}
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err = pgx.BeginTxFunc(ctx, connection, options, func(tx pgx.Tx) (err error) {
		if found, err = column(ctx, tx, contradictions); err != nil {
			return err
		}
		if err := pairs(ctx, tx, "select log_id || ' ' || partition, position from portal.checkpoint", positions); err != nil {
			return err
		}
		if err := pairs(ctx, tx, "select event_id, stream_seq from portal.processed_event", events); err != nil {
			return err
		}
		if err := pairs(ctx, tx, "select provider_payment_id || ' ' || line, l::text from portal.credit_ledger l", lines); err != nil {
			return err
		}
		return pairs(ctx, tx, "select key || ' ' || number, p::text from wallet.spend_part p", parts)
	})
	if err != nil {
		return nil, err
	}
	for partition, before := range r.positions {
		if now, known := positions[partition]; known && now < before {
			found = append(found, fmt.Sprintf("partition %s went from %d back to %d", partition, before, now))
		}
	}
	found = append(found, changed("event", r.events, events)...)
	found = append(found, changed("ledger line", r.lines, lines)...)
	found = append(found, changed("part", r.parts, parts)...)
	r.positions, r.events, r.lines, r.parts = positions, events, lines, parts
	r.Reads++
	return found, nil
}

// changed says which rows of an earlier read are gone or have changed.
func changed[V comparable](what string, before, now map[string]V) (found []string) {
	for key, was := range before {
		switch is, known := now[key]; {
		case !known:
			found = append(found, fmt.Sprintf("%s %s has disappeared", what, key))
		case is != was:
			found = append(found, fmt.Sprintf("%s %s was %v, is %v", what, key, was, is))
		}
	}
	return found
}

func column(ctx context.Context, tx pgx.Tx, sql string) ([]string, error) {
	rows, err := tx.Query(ctx, sql)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

func pairs[V any](ctx context.Context, tx pgx.Tx, sql string, into map[string]V) error {
	rows, err := tx.Query(ctx, sql)
	if err != nil {
		return err
	}
	var key string
	var value V
	_, err = pgx.ForEachRow(rows, []any{&key, &value}, func() error {
		into[key] = value
		return nil
	})
	return err
}
