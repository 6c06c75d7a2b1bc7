package browse

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/store"
)

const (
	// measureTimeout limits the time for which one measure reads the tables. A promotion waits for five
	// seconds for older readers, and then gives up.
	measureTimeout = 4 * time.Second
	// A measure is computed again after measureAge, or after measurePause times the time that it
	// took, whichever is longer.
	measureAge   = 30 * time.Second
	measurePause = 20
)

// tooSlow is the fault of a measure that is not computed within measureTimeout.
var tooSlow = fmt.Sprintf("it takes longer than %s", measureTimeout)

// kept computes a value of a schema's tables in one snapshot, and keeps it for a while. It is safe for concurrent use.
type kept[T any] struct {
	read func(context.Context, pgx.Tx, Moment) (T, error)

	mu    sync.Mutex // held while the tables are read: one reads for all
	known map[string]measured[T]
}

// measured is a value of one schema. Its Moment is the moment of the computation.
type measured[T any] struct {
	Moment
	value  T
	fault  string // why there is no value
	tables store.TablesID
	took   time.Duration
}

func newKept[T any](read func(context.Context, pgx.Tx, Moment) (T, error)) *kept[T] {
	return &kept[T]{read: read, known: map[string]measured[T]{}}
}

// get returns the value. It computes it if nobody has asked within the last half minute. If this takes more than
// measureTimeout, the result has a fault.
func (k *kept[T]) get(ctx context.Context, db *store.Store) (measured[T], error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	known := k.known[db.Schema()]
	var out measured[T]
	err := db.View(ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
		out = measured[T]{}
		now, err := readMoment(ctx, tx, db.Schema())
		if err != nil {
			return err
		}
		if out.tables, err = db.FindTables(ctx, tx); err != nil {
			return err
		}
		if known.tables == out.tables && now.At.Sub(known.At) < max(measureAge, measurePause*known.took) {
			out = known
			return nil
		}
		out.Moment = now
		const timeout = "select set_config('statement_timeout', $1, true)"
		if _, err := tx.Exec(ctx, timeout, store.Milliseconds(measureTimeout)); err != nil {
			return err
		}
		began := time.Now()
		out.value, err = k.read(ctx, tx, now)
		out.took = time.Since(began)
		return err
	})
	switch {
	case err != nil && (ctx.Err() != nil || out.At.IsZero()):
		return measured[T]{}, err
	case store.StatementTimedOut(err):
		out.fault = tooSlow
	case err != nil:
		out.fault = err.Error()
	}
	k.known[db.Schema()] = out
	return out, nil
}
