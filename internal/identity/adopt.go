package identity

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/store"
)

// ErrNotAdopted means that a log was not adopted and nothing has changed.
var ErrNotAdopted = errors.New("not adopted")

// Adopted is the log that the tables continue with.
type Adopted struct {
	LogID            string `json:"log_id"`
	First            uint64 `json:"first_seq"`
	PartitionsBehind int    `json:"partitions_behind"` // partitions that were before First-1; the rest of the old log is lost to them
}

// Adopt makes the store's tables continue with another log. This log must begin right after the
// newest message that the tables have. The error is ErrNotAdopted if it begins elsewhere, has
// another number of partitions, or is the log of the tables already.
func Adopt(ctx context.Context, s *store.Store, info eventlog.Info) (Adopted, error) {
	done := Adopted{LogID: info.LogID, First: info.First}
	err := pgx.BeginFunc(ctx, s.Pool(), func(tx pgx.Tx) error {
		// Batches under way end first. Later batches are fenced, because their log is not that of the checkpoints any more.
		// No promotion can replace the tables meanwhile.
		if err := store.HoldBatches(ctx, tx); err != nil {
			return err
		}
		var haveLog string
		var have int
		var newest int64
		err := tx.QueryRow(ctx, `select log_id, partitions,
			(select max(position) from checkpoint), (select count(*) from checkpoint where position < (select max(position) from checkpoint))
			from payfold.schema_state where schema_name = $1 for update`, s.Schema()).Scan(&haveLog, &have, &newest, &done.PartitionsBehind)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return store.NoSchema(s.Schema())
		case err != nil:
			return fmt.Errorf("read the state of the tables: %w", err)
		case haveLog == info.LogID:
			return fmt.Errorf("%w: %s is the log of these tables already", ErrNotAdopted, info.LogID)
		case have != info.Partitions:
			return fmt.Errorf("%w: the tables have %d partitions, the log has %d", ErrNotAdopted, have, info.Partitions)
		case info.First != uint64(newest)+1:
			return fmt.Errorf("%w: the log begins at seq %d; it must begin at %d, after the newest message the tables hold", ErrNotAdopted, info.First, newest+1)
		}
		if _, err := tx.Exec(ctx, "update checkpoint set log_id = $1, position = $2, position_digest = null", info.LogID, newest); err != nil {
			return fmt.Errorf("record the new log: %w", err)
		}
		if _, err := tx.Exec(ctx, "update payfold.schema_state set log_id = $2 where schema_name = $1", s.Schema(), info.LogID); err != nil {
			return fmt.Errorf("record the new log: %w", err)
		}
		return nil
	})
	return done, err
}

// HoldsBefore reports whether the store's tables have any message before seq.
func HoldsBefore(ctx context.Context, s *store.Store, seq uint64) (holds bool, err error) {
	err = s.Pool().QueryRow(ctx, "select exists (select from processed_event where stream_seq < $1)", int64(seq)).Scan(&holds)
	return holds, err
}
