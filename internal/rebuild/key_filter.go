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

// keyFilter knows by a Bloom filter which names no row of the tables has, so that nobody looks for
// them. If there is memory for that, it knows their events, which are then found without an index.
type keyFilter struct {
	any     bool               // whether the tables have any rows
	written *bloom.BloomFilter // the names and the events of all their rows, with false positives; nil: not known
	exact   bool               // events has the events of all their rows; only where written is known
	events  rowcache.EventIDs
	until   uint64 // the position at which the rebuild ends
}

// falsePositives is the fraction of the names without a row that are looked for anyway.
const falsePositives = 0.01

// namesPerEvent is about the number of new names per event in a real shop. With more names
// the filter has more false positives.
const namesPerEvent = 3

// readPerLook is how many events' names can be read in the time that looking for the names of
// one event takes.
const readPerLook = 8

// knows returns what is known of the tables; nil if nothing is.
func (f *keyFilter) knows() rowcache.Known {
	if f.written == nil {
		return nil
	}
	return f
}

// stage is that of the indexes without which a chunk does not find what is in the tables.
func (f *keyFilter) stage() tables.Stage {
	if !f.exact {
		return tables.Complete // events are looked for by their ids
	}
	return tables.Folded
}

// MayHaveName implements rowcache.Known, as do the next two. Nobody may call them if written is nil.
func (f *keyFilter) MayHaveName(name string) bool { return f.mayHave(rowcache.HashOf(name)) }

func (f *keyFilter) KnowsEvents() bool { return f.exact }

func (f *keyFilter) HasEvent(id rowcache.EventID) bool { return f.mayHave(id[0]) && f.events.Has(id) }

func (f *keyFilter) mayHave(hash uint64) bool { return f.written.Test(hashBytes(hash)) }

func (f *keyFilter) add(hash uint64) { f.written.Add(hashBytes(hash)) }

func (f *keyFilter) addEvents(ids []rowcache.EventID) {
	for _, id := range ids {
		f.add(id[0])
	}
	if f.exact {
		f.events.Add(ids)
	}
}

// learn adds the names of the rows that a chunk writes. position is that of the tables after
// it.
func (f *keyFilter) learn(rows *rowcache.Cache, position uint64) {
	switch {
	case position >= f.until:
		f.written, f.exact, f.events = nil, false, rowcache.EventIDs{}
	case f.written != nil:
		rows.EachName(f.add)
		f.addEvents(rows.EventIDs())
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
// promotion that adds the last few events. Events are known where their ids take at most half of
// memory.
func (f *keyFilter) resume(ctx context.Context, connection *pgx.Conn, position, until uint64, memory int) error {
	if err := connection.QueryRow(ctx, "select exists (select from processed_event)").Scan(&f.any); err != nil {
		return fmt.Errorf("look for rows: %w", err)
	}
	f.until = until
	if f.any && until < position+position/readPerLook {
		return nil
	}
	f.written = bloom.NewWithEstimates(uint(max(until, 1_000)*namesPerEvent), falsePositives)
	if err := eachText(ctx, connection, namesOfRows(), func(name string) { f.add(rowcache.HashOf(name)) }); err != nil {
		return fmt.Errorf("read the names of what is there: %w", err)
	}
	f.exact = until <= uint64(memory)/2/rowcache.EventIDSize
	var ids []rowcache.EventID
	err := eachText(ctx, connection, "select event_id from processed_event", func(text string) {
		id := rowcache.EventIDOf(text)
		f.add(id[0])
		if f.exact {
			ids = append(ids, id)
		}
	})
	if err != nil {
		return fmt.Errorf("read the events that are there: %w", err)
	}
	f.events.Add(ids)
	return nil
}

// eachText calls do with each row of a query of one text.
func eachText(ctx context.Context, connection *pgx.Conn, sql string, do func(string)) error {
	rows, err := connection.Query(ctx, sql)
	if err != nil {
		return err
	}
	var text string
	_, err = pgx.ForEachRow(rows, []any{&text}, func() error {
		do(text)
		return nil
	})
	return err
}
