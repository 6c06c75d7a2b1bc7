package browse

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/lag"
	"github.com/payfold/payfold/internal/store"
)

// SchemasAnswer lists the sets of tables, ordered by name.
type SchemasAnswer struct {
	Moment
	Head     *uint64       `json:"head"` // of the log; nil if the log cannot be reached
	LogFault string        `json:"log_fault,omitempty"`
	Schemas  []SchemaState `json:"schemas"`
}

// SchemaState says how far the tables of a schema are. The tables of a rebuild move on by up to a
// million messages at once.
type SchemaState struct {
	store.Schema
	Live bool   `json:"live"`
	Goal *int64 `json:"goal"` // the position at which the tables are complete; nil if it is not known
}

// logTimeout limits how long a page waits for the log.
const logTimeout = 2 * time.Second

// Schemas lists the schemas of the database, and how far they are behind the log or their end.
func Schemas(ctx context.Context, log lag.Log, db *store.Store) (SchemasAnswer, error) {
	out, err := view(ctx, db, func(ctx context.Context, tx pgx.Tx, now Moment) (SchemasAnswer, error) {
		out := SchemasAnswer{Moment: now, Schemas: []SchemaState{}}
		all, err := store.SchemasIn(ctx, tx)
		for _, schema := range all {
			out.Schemas = append(out.Schemas, SchemaState{Schema: schema, Live: schema.Name == store.LiveSchema, Goal: schema.UntilSeq})
		}
		return out, err
	})
	if err != nil {
		return out, err
	}
	ctx, cancel := context.WithTimeout(ctx, logTimeout)
	defer cancel()
	info, err := log.Info(ctx)
	if err != nil {
		out.LogFault = err.Error()
		return out, nil
	}
	out.Head = &info.Last
	for i := range out.Schemas {
		if of := &out.Schemas[i]; of.Goal == nil && of.LogID == info.LogID {
			head := int64(info.Last)
			of.Goal = &head
		}
	}
	return out, nil
}
