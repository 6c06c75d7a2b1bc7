package export

import (
	"context"
	"encoding/hex"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/store"
)

const manifestName = "manifest.json"

// Manifest says what an export has. It has no time of the export itself.
type Manifest struct {
	Format   string `json:"format"`
	FoldID   string `json:"fold_id"`
	LogID    string `json:"log_id"`
	Position uint64 `json:"position"` // every message up to here is in the tables
	// Checkpoints are the positions of the partitions, which can be ahead of Position.
	Checkpoints []Checkpoint `json:"checkpoints"`
	LogRoot     *LogRoot     `json:"log_root"` // nil: it is not known
	Moment      time.Time    `json:"moment"`   // at which entitlement and credit_balance are computed
	Files       []File       `json:"files"`
}

// LogRoot says what the log has up to the newest message that the tables have: the numbers and the hash of a signed
// checkpoint of these messages.
type LogRoot struct {
	Messages uint64 `json:"messages"`
	Hash     string `json:"hash"` // base64
	FirstSeq uint64 `json:"first_seq"`
}

// Checkpoint is the position of a partition in the log. The digest is of the message there.
type Checkpoint struct {
	Partition int    `json:"partition"`
	Position  uint64 `json:"position"`
	Digest    string `json:"digest,omitempty"` // none: the partition has no message, or the log was adopted
}

// File is the rows of one table.
type File struct {
	Name    string   `json:"name"`
	Table   string   `json:"table"`
	Comment string   `json:"comment"`
	Rows    int64    `json:"rows"`
	Bytes   int64    `json:"bytes"`
	SHA256  string   `json:"sha256"`
	Key     []string `json:"key"` // the rows are in its order
	Columns []Column `json:"columns"`
}

// readState reads which tables the schema has.
func (m *Manifest) readState(ctx context.Context, tx pgx.Tx, s *store.Store) error {
	all, err := store.SchemasIn(ctx, tx)
	if err != nil {
		return err
	}
	schema, err := store.SchemaIn(all, s.Schema())
	if err != nil {
		return err
	}
	m.FoldID, m.LogID, m.Position = schema.FoldID, schema.LogID, uint64(schema.Position)
	checkpoints, err := store.CheckpointsIn(ctx, tx)
	if err != nil {
		return err
	}
	for _, c := range checkpoints {
		m.Checkpoints = append(m.Checkpoints, Checkpoint{c.Partition, c.Position, hex.EncodeToString(c.Digest)})
	}
	return nil
}

// newest is the sequence of the newest message that the tables have.
func (m *Manifest) newest() (seq uint64) {
	for _, c := range m.Checkpoints {
		seq = max(seq, c.Position)
	}
	return seq
}

// readMoment sets the moment to that at which the newest message arrived, unless one is given.
func (m *Manifest) readMoment(ctx context.Context, tx pgx.Tx, given time.Time) error {
	if m.Moment = given.UTC().Truncate(time.Microsecond); !given.IsZero() {
		return nil
	}
	newest, err := store.Collect(ctx, tx, "read when the newest message arrived", pgx.RowTo[time.Time],
		"select received_at from processed_event order by stream_seq desc limit 1")
	if err != nil {
		return err
	}
	m.Moment = slices.Concat(newest, []time.Time{time.Unix(0, 0).UTC()})[0]
	return nil
}

// write makes the file of the manifest.
func (m *Manifest) write(folder *Folder) error {
	file, err := folder.create(manifestName)
	if err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	defer file.Close()
	if err := json.MarshalWrite(file, m, jsontext.WithIndent("  ")); err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	if _, err := file.WriteString("\n"); err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	return closeDurable(file)
}
