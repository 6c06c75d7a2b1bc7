package rebuild

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/bits-and-blooms/bloom/v3"
	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/rowcache"
	"github.com/payfold/payfold/internal/tables"
)

// keyFilter knows which names no row has, by a Bloom filter, so that nobody looks for them.
type keyFilter struct {
	any     bool               // whether the tables have any rows
	written *bloom.BloomFilter // the names of all their rows, with false positives; nil: not known
	until   uint64             // the position at which the rebuild ends
}

// falsePositives is the fraction of the names without a row that are looked for anyway.
const falsePositives = 0.01

// namesPerEvent is about the number of new names per event in a real shop. With more names
// the filter has more false positives.
const namesPerEvent = 3

// readPerLook is how many events' names can be read in the time that looking for the names of
// one event takes.
const readPerLook = 8

func (f *keyFilter) mayHave(name string) bool {
	return f.written == nil || f.written.Test(hashBytes(rowcache.HashOf(name)))
}

// learn adds the names of the rows that a chunk writes. position is that of the tables after
// it.
func (f *keyFilter) learn(rows *rowcache.Cache, position uint64) {
	switch {
	case position >= f.until:
		f.written = nil
	case f.written != nil:
		rows.EachHash(func(hash uint64) { f.written.Add(hashBytes(hash)) })
	}
}

func hashBytes(hash uint64) []byte { return binary.LittleEndian.AppendUint64(nil, hash) }

// namesOfRows is the statement that reads all names of all rows.
func namesOfRows() string {
	var parts []string
	for _, t := range tables.All {
		for _, name := range t.About().NameColumns {
			parts = append(parts, fmt.Sprintf("select %s from %s where %[1]s is not null", name, t.About().Name))
		}
	}
	return strings.Join(parts, " union all ")
}

// resume prepares the filter for tables at position that a rebuild brings up to until. It
// reads the names of their rows only if there is much to fold: live work waits for a
// promotion that adds the last few events.
func (f *keyFilter) resume(ctx context.Context, connection *pgx.Conn, position, until uint64) error {
	if err := connection.QueryRow(ctx, "select exists (select from processed_event)").Scan(&f.any); err != nil {
		return fmt.Errorf("look for rows: %w", err)
	}
	f.until = until
	if f.any && until < position+position/readPerLook {
		return nil
	}
	f.written = bloom.NewWithEstimates(uint(max(until, 1_000)*namesPerEvent), falsePositives)
	rows, err := connection.Query(ctx, namesOfRows())
	if err != nil {
		return fmt.Errorf("read the names of what is there: %w", err)
	}
	var name string
	_, err = pgx.ForEachRow(rows, []any{&name}, func() error {
		f.written.Add(hashBytes(rowcache.HashOf(name)))
		return nil
	})
	if err != nil {
		return fmt.Errorf("read the names of what is there: %w", err)
	}
	return nil
}
