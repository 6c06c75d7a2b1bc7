package rebuild

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/bits-and-blooms/bloom/v3"
	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/tables"
)

// keyFilter says which names a loader has to look for in tables that nobody else
// writes. It leaves out names that no row has, by a Bloom filter, and names whose rows
// are in the row cache already.
type keyFilter struct {
	any     bool                                    // whether the tables have any rows
	written *bloom.BloomFilter                      // the names of all their rows; may say yes to others. nil: not known
	until   uint64                                  // where the tables will stand in the end
	asked   map[tables.NameKind]map[string]struct{} // by kind, the names looked for since the row cache was empty
	size    int                                     // of asked, about
}

// falsePositives is the share of the names without a row that are looked for anyway.
const falsePositives = 0.01

// namesPerEvent is about that of a real shop. With more names the filter is too small,
// and more of them are looked for without need.
const namesPerEvent = 3

// readPerLook: reading the names of eight events takes about as long as looking for
// those of one.
const readPerLook = 8

func newKeyFilter() *keyFilter { return &keyFilter{asked: map[tables.NameKind]map[string]struct{}{}} }

// ask returns those of the names that the tables may have and that were not asked for
// before, in their order.
func (f *keyFilter) ask(kind tables.NameKind, names []string) (fresh []string) {
	if !f.any {
		return nil
	}
	asked := f.asked[kind]
	if asked == nil {
		asked = map[string]struct{}{}
		f.asked[kind] = asked
	}
	for _, name := range names {
		if _, done := asked[name]; !done && f.mayHave(name) {
			asked[name] = struct{}{}
			f.size += len(name) + 40
			fresh = append(fresh, name)
		}
	}
	return fresh
}

func (f *keyFilter) mayHave(name string) bool {
	return f.written == nil || f.written.Test(hashBytes(hashOf(name)))
}

// learn notes the names of rows that are being written into the tables, which then
// stand at position.
func (f *keyFilter) learn(rows *rowCache, position uint64) {
	switch {
	case position >= f.until:
		f.written = nil
	case f.written != nil:
		rows.eachHash(func(hash uint64) { f.written.Add(hashBytes(hash)) })
	}
}

func hashBytes(hash uint64) []byte { return binary.LittleEndian.AppendUint64(nil, hash) }

// renew: a chunk was saved. The tables have some rows, and the row cache is empty.
func (f *keyFilter) renew() {
	f.any, f.asked, f.size = true, map[tables.NameKind]map[string]struct{}{}, 0
}

// namesOfRows is the statement that reads every name under which rows are looked for.
func namesOfRows() string {
	var parts []string
	for _, t := range tables.All {
		for _, name := range t.About().NameColumns {
			parts = append(parts, fmt.Sprintf("select %s from %s where %[1]s is not null", name, t.About().Name))
		}
	}
	return strings.Join(parts, " union all ")
}

// resume looks at what is in the tables, which stand at position and are to be
// brought up to until. The names of their rows are read where that pays: a
// promotion that adds the last few events keeps others waiting.
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
		f.written.Add(hashBytes(hashOf(name)))
		return nil
	})
	if err != nil {
		return fmt.Errorf("read the names of what is there: %w", err)
	}
	return nil
}
