package rebuild

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/backoff"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/rowcache"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
)

// begin opens a chunk unless one is open.
func (b *Bulk) begin(ctx context.Context) error {
	if b.chunk != nil {
		return nil
	}
	b.boundary.Lock()
	defer b.boundary.Unlock()
	if err := b.findRows(ctx); err != nil {
		return err
	}
	chunk, err := b.openChunk(ctx)
	if err != nil {
		return err
	}
	b.chunk = chunk
	b.state = projections.NewState()
	if !b.known.any {
		b.rows = rowcache.New(b.expected(), nil)
	} else {
		source := rowcache.NewSource(b.chunk.reads, tables.Loader{Schema: b.schema, AllQuarantined: true}, b.known.forSource())
		b.rows = rowcache.New(0, source)
		if err := loadExtras(ctx, b.reads, b.rules, b.state); err != nil {
			return err
		}
	}
	return b.loadQuarantined(ctx)
}

// findRows prepares to find the rows of the tables: by their places, or by indexes.
func (b *Bulk) findRows(ctx context.Context) error {
	if !b.known.any {
		return nil
	}
	if b.known.exact {
		if err := b.known.places.readChunk(ctx, b.writes, b.reads); err != nil {
			return b.fencedOr(ctx, err)
		}
		b.known.forgetIfTooLarge()
	}
	if b.known.exact {
		return nil
	}
	return store.MakeIndexes(ctx, b.schema, tables.Complete, b.writes, b.reads)
}

// fencedOr returns err, or store.ErrFenced if another process has moved the checkpoints, which
// explains err.
func (b *Bulk) fencedOr(ctx context.Context, err error) error {
	if now, failed := store.PositionsIn(ctx, b.reads); failed == nil && !maps.Equal(now, b.positions) {
		return store.ErrFenced
	}
	return err
}

// openChunk begins the transactions of a chunk. It lets another session that waits for the tables go first.
func (b *Bulk) openChunk(ctx context.Context) (c *chunk, err error) {
	retry := backoff.Every(store.LockRetryInterval)
	for {
		if c, err = b.tryChunk(ctx); !errors.Is(err, errOthersWait) {
			return c, err
		}
		if err := retry.Wait(ctx); err != nil {
			return nil, err
		}
	}
}

// tryChunk is one try of openChunk. It returns errOthersWait if another session waits for the
// tables.
func (b *Bulk) tryChunk(ctx context.Context) (_ *chunk, err error) {
	c := &chunk{fresh: !b.known.any}
	if c.tx, err = b.writes.Begin(ctx); err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	defer func() {
		if err != nil {
			c.giveUp()
		}
	}()
	if err = store.LockPositions(ctx, c.tx, b.logID, b.positions); err != nil {
		return nil, err
	}
	if err = b.checkTables(ctx, c.tx); err != nil {
		return nil, err
	}
	if c.fresh {
		err = emptyTables(ctx, c.tx)
	} else {
		err = c.holdTables(ctx, b.reads)
	}
	if err != nil {
		return nil, err
	}
	if b.known.exact {
		if c.files, err = b.known.places.begin(ctx, c.tx, c.reads); err != nil {
			return nil, err
		}
	}
	if err = c.begin(ctx, b.together); err != nil {
		return nil, err
	}
	return c, nil
}

// checkTables returns store.ErrFenced if the schema has other tables than when the Bulk was made, which were dropped
// meanwhile. Two rebuilds of one log often stand at the same positions. The transaction has locked the checkpoints, so
// nobody can drop the tables before it ends.
func (b *Bulk) checkTables(ctx context.Context, tx pgx.Tx) error {
	now, err := store.ReadRowsID(ctx, tx, b.schema)
	if err == nil && now != b.rowsID {
		return store.ErrFenced
	}
	return err
}

// requarantine loads the events that were quarantined through other tables since the chunk began.
func (b *Bulk) requarantine(ctx context.Context) error {
	if b.chunk == nil {
		return nil // begin loads them
	}
	return b.loadQuarantined(ctx)
}

func (b *Bulk) loadQuarantined(ctx context.Context) error {
	all := &pgx.Batch{}
	tables.QueueQuarantined(all, b.schema, b.state, 0, math.MaxInt64)
	if err := b.reads.SendBatch(ctx, all).Close(); err != nil {
		return fmt.Errorf("read the quarantined events: %w", err)
	}
	for seq := range b.refused {
		b.state.Quarantined[seq] = true
	}
	return nil
}
