//go:build linux

package endtoend

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/providers"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
)

// writtenRows are the rows that live projection writes for some events, batch by batch: "the same
// rows, written" measures them. They are written by the statements of live projection, into tables
// with the same indexes, and the checkpoints move in the same transactions. Nothing is read,
// decoded, loaded or folded.
type writtenRows struct {
	batches []writtenBatch
	last    map[int]uint64 // by partition, the last of the events
}

type writtenBatch struct {
	advance    store.Advance
	statements []*pgx.QueuedQuery
}

// defaultBatchSize is the default of BATCH_SIZE.
const defaultBatchSize = 1000

// defaultRules are those of a projector without a configuration.
var defaultRules = projections.Rules{Mode: projections.ModeAny}

// recordWrites folds the messages beyond after and up to until into the live tables of a database,
// as live projection does, and keeps its writes.
func (w *world) recordWrites(b *testing.B, into *store.Store, after, until uint64) *writtenRows {
	b.Helper()
	ctx := b.Context()
	at, err := into.Positions(ctx)
	require.NoError(b, err)
	log, info := w.connect(b)
	defer log.Close()
	recorded := &writtenRows{last: map[int]uint64{}}
	var batch []events.Event
	from := map[int]uint64{}
	require.NoError(b, log.ReadUntil(ctx, after+1, until, func(m events.Message) error {
		batch = append(batch, providers.Decode(m))
		from[m.Partition] = at[m.Partition]
		recorded.last[m.Partition] = m.Seq
		if len(batch) < defaultBatchSize && m.Seq < until {
			return nil
		}
		statements, err := foldRecorded(ctx, into, batch)
		recorded.batches = append(recorded.batches, writtenBatch{
			store.Advance{LogID: info.LogID, From: from, To: m.Seq, Digest: m.Digest()}, statements,
		})
		for partition := range from {
			at[partition] = m.Seq
		}
		batch, from = nil, map[int]uint64{}
		return err
	}))
	return recorded
}

func foldRecorded(ctx context.Context, into *store.Store, batch []events.Event) (statements []*pgx.QueuedQuery, err error) {
	err = pgx.BeginFunc(ctx, into.Pool(), func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, tables.PreferIndexes); err != nil {
			return err
		}
		state, err := tables.Load(ctx, tx, into.Schema(), defaultRules, batch)
		if err != nil {
			return err
		}
		if err := defaultRules.FoldAll(state, slices.Values(batch)); err != nil {
			return err
		}
		writes := &pgx.Batch{}
		tables.QueueChanges(writes, state)
		store.QueueNotifications(writes, state)
		statements = writes.QueuedQueries
		once := &pgx.Batch{}
		queueAll(once, statements)
		return tx.SendBatch(ctx, once).Close()
	})
	return statements, err
}

// queueAll queues copies of the statements: each can be sent only once.
func queueAll(batch *pgx.Batch, statements []*pgx.QueuedQuery) {
	for _, s := range statements {
		batch.Queue(s.SQL, s.Arguments...)
	}
}

// write writes the rows, one transaction a batch.
func (r *writtenRows) write(ctx context.Context, into *store.Store) error {
	for _, batch := range r.batches {
		err := pgx.BeginFunc(ctx, into.Pool(), func(tx pgx.Tx) error {
			statements, moved := &pgx.Batch{}, false
			statements.Queue(tables.PreferIndexes)
			batch.advance.Queue(statements, &moved)
			queueAll(statements, batch.statements)
			if err := tx.SendBatch(ctx, statements).Close(); err != nil {
				return err
			}
			if !moved {
				return errors.New("the checkpoints are not where the batch begins")
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
