package store

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Applied returns those of the sequences whose messages the tables on search_path have.
func Applied(ctx context.Context, q Querier, seqs []uint64) ([]uint64, error) {
	return Collect(ctx, q, "look for messages in the tables", pgx.RowTo[uint64], `select stream_seq from processed_event where stream_seq = any($1)
		union all select stream_seq from duplicate_event where stream_seq = any($1)`, seqs)
}
