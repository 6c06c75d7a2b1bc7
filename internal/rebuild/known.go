package rebuild

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/bits-and-blooms/bloom/v3"
	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/rowcache"
	"github.com/payfold/payfold/internal/tables"
)

// known is what a rebuild knows of the tables that it fills. A Bloom filter knows which names no row of
// them has, so that nobody looks for those. As long as there is memory for that, it also knows all events, and
// where each row is; then the tables need no indexes.
type known struct {
	any     bool               // whether the tables have any rows
	written *bloom.BloomFilter // the names and the events of all their rows, with false positives; nil: not known
	exact   bool               // events and places are known of all rows; only where written is known
	events  rowcache.EventIDs
	places  places
	memory  int    // for events and places
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
func (k *known) knows() rowcache.Known {
	if k.written == nil {
		return nil
	}
	return k
}

// MayHaveName implements rowcache.Known, as do the next three. Nobody may call them if written is nil.
func (k *known) MayHaveName(name string) bool { return k.mayHave(rowcache.HashOf(name)) }

func (k *known) Exact() bool { return k.exact }

func (k *known) HasEvent(id rowcache.EventID) bool { return k.mayHave(id[0]) && k.events.Has(id) }

func (k *known) Places(table tables.AnyTable, names []string) []tables.Place {
	return k.places.of(table, names)
}

func (k *known) mayHave(hash uint64) bool { return k.written.Test(hashBytes(hash)) }

func (k *known) add(hash uint64) { k.written.Add(hashBytes(hash)) }

func (k *known) addEvents(ids []rowcache.EventID) {
	for _, id := range ids {
		k.add(id[0])
	}
	if k.exact {
		k.events.Add(ids)
	}
}

// learn adds the names and the events of the rows that a chunk writes. position is that of the tables after it.
func (k *known) learn(rows *rowcache.Cache, position uint64) {
	if k.written != nil && position < k.until {
		rows.EachName(k.add)
		k.addEvents(rows.EventIDs())
	}
}

// saved is called after learn, when the chunk is committed. What is not needed any more is forgotten.
func (k *known) saved(position uint64, rows *rowcache.Cache, to *chunkFiles) {
	k.any = true
	switch {
	case position >= k.until:
		k.written = nil
		k.forget()
	case k.exact:
		to.written = rows.Written()
		k.places.unread = to
	}
}

// forget gives up what only takes memory, from now on.
func (k *known) forget() { k.exact, k.events, k.places = false, rowcache.EventIDs{}, places{} }

// forgetTooMuch forgets what takes more than its memory. So rows are found by indexes from now on.
func (k *known) forgetTooMuch() {
	if k.events.Size()+k.places.size() > k.memory {
		k.forget()
	}
}

func hashBytes(hash uint64) []byte { return binary.LittleEndian.AppendUint64(nil, hash) }

// resume learns of tables at position, which a rebuild brings up to until. It
// reads the names of their rows only if there is much to fold: live work waits for a
// promotion that adds the last few events.
func (k *known) resume(ctx context.Context, connection *pgx.Conn, position, until uint64) error {
	var indexed bool
	err := connection.QueryRow(ctx, "select exists (select from processed_event), exists (select from pg_index where indrelid = any($1::text[]::regclass[]))",
		tables.NameList()).Scan(&k.any, &indexed)
	if err != nil {
		return fmt.Errorf("look for rows: %w", err)
	}
	k.until = until
	if k.any && until < position+position/readPerLook {
		return nil
	}
	k.written = bloom.NewWithEstimates(uint(max(until, 1_000)*namesPerEvent), falsePositives)
	if k.exact = true; !k.any {
		return nil
	}
	limit := k.memory
	if indexed { // rows are added in the order of an index
		limit = 0
	}
	if err := k.places.readAll(ctx, connection, limit, func(name string) { k.add(rowcache.HashOf(name)) }); err != nil {
		return err
	}
	k.exact = k.places.files != nil
	return k.readEvents(ctx, connection)
}

func (k *known) readEvents(ctx context.Context, connection *pgx.Conn) error {
	rows, err := connection.Query(ctx, "select event_id from processed_event")
	if err != nil {
		return fmt.Errorf("read the events that are there: %w", err)
	}
	var ids []rowcache.EventID
	var text string
	others := k.places.size()
	_, err = pgx.ForEachRow(rows, []any{&text}, func() error {
		id := rowcache.EventIDOf(text)
		k.add(id[0])
		if k.exact {
			ids = append(ids, id)
		}
		if k.exact && others+rowcache.EventIDSize*len(ids) > k.memory {
			k.forget()
			ids = nil
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read the events that are there: %w", err)
	}
	if k.exact {
		k.events.Add(slices.Clone(ids)) // without the room that it has grown into
		k.forgetTooMuch()
	}
	return nil
}
