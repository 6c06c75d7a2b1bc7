package status

import (
	"context"
	_ "embed"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/store"
)

// OutOfOrder is an out-of-order event: it was applied after a later one of the same user,
// payment, subscription or event id.
type OutOfOrder struct {
	StreamSeq    int64     `json:"stream_seq"`
	EventID      string    `json:"event_id"`
	LaterSeq     int64     `json:"later_seq"`
	LaterEventID string    `json:"later_event_id"`
	Shared       string    `json:"shared"`
	NoticedAt    time.Time `json:"noticed_at"`
}

//go:embed out_of_order.sql
var outOfOrderSQL string

// ReadOutOfOrder reads the out-of-order events of the schema's tables, the newest first, at most limit. If
// messages is not nil, it reads only those in which one of these sequences is the event or the later event.
func ReadOutOfOrder(ctx context.Context, tx pgx.Tx, schema string, messages []int64, limit int) ([]OutOfOrder, error) {
	return store.Collect(ctx, tx, "read the out-of-order events", pgx.RowToStructByPos[OutOfOrder],
		outOfOrderSQL, schema, messages, limit)
}

// Quarantined is an event whose rows the database refused.
type Quarantined struct {
	StreamSeq int64     `json:"stream_seq"`
	EventID   string    `json:"event_id"` // empty until it is applied as rejected
	Error     string    `json:"error"`
	FoundAt   time.Time `json:"found_at"`
}

//go:embed quarantined.sql
var quarantinedSQL string

// ReadQuarantined reads the quarantined events of a log, the newest first, at most limit. If messages is not
// nil, it reads only those at these sequences.
func ReadQuarantined(ctx context.Context, tx pgx.Tx, logID string, messages []int64, limit int) ([]Quarantined, error) {
	return store.Collect(ctx, tx, "read the quarantined events", pgx.RowToStructByPos[Quarantined],
		quarantinedSQL, logID, messages, limit)
}
