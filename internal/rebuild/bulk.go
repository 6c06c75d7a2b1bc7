package rebuild

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/rowcache"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
)

// Bulk folds long chunks of the log into tables that no other process writes. The result is that of
// live.Apply. But a chunk is one transaction. It keeps the rows that it has loaded or changed in
// memory, and writes some rows while it folds.
//
// Bulk is not safe for concurrent use, except as ReadAhead says. After an error of Fold or Save only
// Close may be called, and the tables are as the last Save left them.
type Bulk struct {
	boundary sync.Mutex // held while a chunk begins or ends, and while ReadAhead reads

	rules         projections.Rules
	reads, writes *pgxpool.Conn
	schema        string
	known         *known             // what is known of the tables
	chunk         *chunk             // nil between Save and the next Fold
	rows          *rowcache.Cache    // of the chunk
	state         *projections.State // of the last batch
	logID         string
	rowsID        store.RowsID   // of the tables
	positions     map[int]uint64 // of the tables, by partition
	refused       store.QuarantinedEvents
	memory        int // limit for the rows of a chunk
	together      int // how many batches one COPY writes
}

// NewBulk prepares to fold messages up to about until. Later ones are folded, too, but more
// slowly. The caller must not change refused until Close.
func NewBulk(ctx context.Context, s *store.Store, rules projections.Rules, until uint64, refused store.QuarantinedEvents) (_ *Bulk, err error) {
	b := &Bulk{schema: s.Schema(), rules: rules, refused: refused, memory: chunkMemory(), together: copiedTogether, known: &known{memory: knownMemory()}}
	defer func() {
		if err != nil {
			b.Close()
		}
	}()
	for _, connection := range []**pgxpool.Conn{&b.reads, &b.writes} {
		if *connection, err = s.Pool().Acquire(ctx); err != nil {
			return nil, fmt.Errorf("connect to the database: %w", err)
		}
	}
	if b.logID, err = store.CheckRules(ctx, b.reads, b.schema, rules); err != nil {
		return nil, err
	}
	if b.rowsID, err = store.ReadRowsID(ctx, b.reads, b.schema); err != nil {
		return nil, err
	}
	if b.rowsID.FoldID != rules.FoldID() { // the tables were replaced since CheckRules
		return nil, store.ErrFenced
	}
	if b.positions, err = store.PositionsIn(ctx, b.reads); err != nil {
		return nil, err
	}
	return b, b.known.resume(ctx, b.reads.Conn(), b.least(), until)
}

// standAt reports whether these were the positions of the tables, by partition, when the
// Bulk was made.
func (b *Bulk) standAt(positions []uint64) bool {
	for partition, position := range positions {
		if b.positions[partition] != position {
			return false
		}
	}
	return len(positions) == len(b.positions)
}

func (b *Bulk) least() uint64 { return slices.Min(slices.Collect(maps.Values(b.positions))) }

// Close discards what is not saved.
func (b *Bulk) Close() {
	if b.chunk != nil {
		_ = b.chunk.flush()
		b.chunk.giveUp()
	}
	for _, connection := range []*pgxpool.Conn{b.reads, b.writes} {
		if connection != nil {
			connection.Release()
		}
	}
}

// Ahead has events, and the rows of the tables that their fold needs.
type Ahead struct {
	batches [][]events.Event
	rows    *projections.State
	of      *rowcache.Cache // the cache that can take the rows; nil if nothing was read
}

// ReadAhead reads what Fold needs for these events. It may run concurrently with Fold and Save, but
// not with another ReadAhead. The events must be folded in the order in which they were read.
// Several small batches in one call are quicker than a large one: their rows are read together.
func (b *Bulk) ReadAhead(ctx context.Context, batches ...[]events.Event) (Ahead, error) {
	b.boundary.Lock()
	defer b.boundary.Unlock()
	if b.chunk == nil || !b.known.any {
		return Ahead{batches: batches}, nil
	}
	rows, err := b.rows.Read(ctx, slices.Concat(batches...))
	return Ahead{batches, rows, b.rows}, err
}

// Fold folds events that the tables do not have yet, in the order of the log. Rows that were read
// before the last Save are read again. The error may be a store.RefusedError.
func (b *Bulk) Fold(ctx context.Context, ahead Ahead) (err error) {
	if err := b.begin(ctx); err != nil {
		return err
	}
	if b.known.any {
		if ahead.of != b.rows {
			if ahead.rows, err = b.rows.ReadAgain(ctx, slices.Concat(ahead.batches...)); err != nil {
				return err
			}
		}
		b.rows.Take(ahead.rows)
	}
	seen := b.rows.Seen(ahead.batches)
	defer func() {
		for range seen { // wait until Seen has ended
		}
	}()
	for _, batch := range ahead.batches {
		if err := b.foldBatch(ctx, batch, seen); err != nil {
			return err
		}
	}
	return nil
}

func (b *Bulk) foldBatch(ctx context.Context, batch []events.Event, seen <-chan []string) error {
	if err := b.rows.Fold(ctx, b.rules, b.state, batch, <-seen); err != nil {
		return err
	}
	return store.AsRefused(b.chunk.write(b.added()))
}

// added lists the new rows that are written now, and not at the end of the chunk.
func (b *Bulk) added() (all []tables.Change) {
	for _, t := range tables.All {
		if t.About().InsertOnly && !b.rows.Saves(t) {
			all = append(all, t.ChangesIn(b.state))
		}
	}
	return all
}

// expected estimates the number of events in the first chunk, for the size of its maps.
func (b *Bulk) expected() int {
	until := b.known.until
	return int(min(until-min(b.least(), until), uint64(b.memory/eventMemory)))
}

// Full reports whether the chunk has reached its limit of memory and must be saved.
func (b *Bulk) Full() bool { return b.chunk != nil && b.rows.Size() > b.memory }

// Save commits everything folded, and moves the checkpoints that are before position to position.
// digest is the digest of the message there. The error is store.ErrFenced if another process has
// moved a checkpoint.
func (b *Bulk) Save(ctx context.Context, position uint64, digest []byte) error {
	if err := b.begin(ctx); err != nil {
		return err
	}
	b.boundary.Lock()
	defer b.boundary.Unlock()
	chunk, rows := b.chunk, b.rows
	var learning sync.WaitGroup // while Postgres writes
	learning.Go(func() { b.known.learn(rows, position) })
	defer learning.Wait()
	if err := chunk.flush(); err != nil {
		return store.AsRefused(err)
	}
	if err := rows.Save(ctx, chunk.tx); err != nil {
		return store.AsRefused(err)
	}
	for _, t := range tables.All {
		if !t.About().Extra {
			continue
		}
		if err := t.ChangesIn(b.state).Copy(ctx, chunk.tx); err != nil {
			return store.AsRefused(err)
		}
	}
	behind := maps.Clone(b.positions)
	maps.DeleteFunc(behind, func(_ int, at uint64) bool { return at >= position })
	advance := store.Advance{LogID: b.logID, From: behind, To: position, Digest: digest}
	if err := advance.Move(ctx, chunk.tx); err != nil {
		return err
	}
	if err := b.refused.Record(ctx, chunk.tx, b.logID, func(seq uint64) bool { return seq <= position }); err != nil {
		return err
	}
	if err := chunk.commit(ctx); err != nil {
		return err
	}
	learning.Wait()
	b.known.saved(position, rows, chunk.files)
	b.chunk, b.rows = nil, nil
	for partition, at := range b.positions {
		b.positions[partition] = max(at, position)
	}
	return nil
}

// Finish makes the missing indexes of the stage, and lets autovacuum work on the tables. Before that
// the tables have all rows, but are slow to read.
func (b *Bulk) Finish(ctx context.Context, stage tables.Stage) error {
	if err := store.MakeIndexes(ctx, b.schema, stage, b.writes, b.reads); err != nil {
		return err
	}
	return store.StartAutovacuum(ctx, b.schema, b.writes)
}
