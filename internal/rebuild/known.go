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

// known is what a rebuild knows of the tables that it fills. A key filter tells which names no row has, so that these
// names are not looked up. While there is memory for it, known also has the ids of all events and the place of each
// row. Then the tables need no indexes.
type known struct {
	any       bool               // whether the tables have any rows
	keyFilter *bloom.BloomFilter // the names and event ids of all rows (a Bloom filter); nil: not known
	exact     bool               // whether events and places of all rows are known; only with a keyFilter
	events    rowcache.EventIDs
	places    places
	memory    int    // limit for events and places
	until     uint64 // the position at which the rebuild ends
}

// falsePositives is the fraction of the names without a row that are looked up anyway.
const falsePositives = 0.01

// namesPerEvent is about the number of new names per event in a real shop. With more names
// the filter has more false positives.
const namesPerEvent = 3

// readsPerLookup is how many events' names can be read in the time of a lookup of one event's
// names.
const readsPerLookup = 8

// forSource returns k, or nil if no names are known.
func (k *known) forSource() rowcache.Known {
	if k.keyFilter == nil {
		return nil
	}
	return k
}

// MayHaveName implements rowcache.Known, as do the next three methods. They must not be called if keyFilter is nil.
func (k *known) MayHaveName(name string) bool { return k.mayHave(rowcache.HashOf(name)) }

func (k *known) Exact() bool { return k.exact }

func (k *known) HasEvent(id rowcache.EventID) bool { return k.mayHave(id[0]) && k.events.Has(id) }

func (k *known) Places(table tables.AnyTable, names []string) []tables.Place {
	return k.places.of(table, names)
}

func (k *known) mayHave(hash uint64) bool { return k.keyFilter.Test(hashBytes(hash)) }

func (k *known) add(hash uint64) { k.keyFilter.Add(hashBytes(hash)) }

func (k *known) addEvents(ids []rowcache.EventID) {
	for _, id := range ids {
		k.add(id[0])
	}
	if k.exact {
		k.events.Add(ids)
	}
}

// learn adds the names and the events of the rows that a chunk writes. position is the position of the tables after the
// chunk.
func (k *known) learn(rows *rowcache.Cache, position uint64) {
	if k.keyFilter != nil && position < k.until {
		rows.EachName(k.add)
		k.addEvents(rows.EventIDs())
	}
}

// saved is called after learn, when the chunk is committed. It forgets what is not needed any more.
func (k *known) saved(position uint64, rows *rowcache.Cache, to *chunkFiles) {
	k.any = true
	switch {
	case position >= k.until:
		k.keyFilter = nil
		k.forget()
	case k.exact:
		to.written = rows.Written()
		k.places.unread = to
	}
}

// forget drops the events and places and frees their memory.
func (k *known) forget() { k.exact, k.events, k.places = false, rowcache.EventIDs{}, places{} }

// forgetIfTooLarge forgets the events and places if they take more than the limit. Rows are then
// found by indexes.
func (k *known) forgetIfTooLarge() {
	if k.events.Size()+k.places.size() > k.memory {
		k.forget()
	}
}

func hashBytes(hash uint64) []byte { return binary.LittleEndian.AppendUint64(nil, hash) }

// resume learns about tables at position, which a rebuild brings up to until. It reads the names of
// their rows only if there is much to fold. A promotion folds only the last few events, and live
// batches wait for it.
func (k *known) resume(ctx context.Context, connection *pgx.Conn, position, until uint64) error {
	var indexed bool
	err := connection.QueryRow(ctx, "select exists (select from processed_event), exists (select from pg_index where indrelid = any($1::text[]::regclass[]))",
		tables.NameList()).Scan(&k.any, &indexed)
	if err != nil {
		return fmt.Errorf("look for rows: %w", err)
	}
	k.until = until
	if k.any && until < position+position/readsPerLookup {
		return nil
	}
	k.keyFilter = bloom.NewWithEstimates(uint(max(until, 1_000)*namesPerEvent), falsePositives)
	if k.exact = true; !k.any {
		return nil
	}
	limit := k.memory
	if indexed { // the indexes find the rows
		limit = 0
	}
	if err := k.places.readAll(ctx, connection, limit, func(name string) { k.add(rowcache.HashOf(name)) }); err != nil {
		return err
	}
	k.exact = k.places.files != nil
	return k.readEvents(ctx, connection)
}

func (k *known) readEvents(ctx context.Context, connection *pgx.Conn) error {
	rows, _ := connection.Query(ctx, "select event_id from processed_event") // ForEachRow returns its error
	var ids []rowcache.EventID
	var text string
	others := k.places.size()
	_, err := pgx.ForEachRow(rows, []any{&text}, func() error {
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
		k.events.Add(slices.Clone(ids)) // without spare capacity
		k.forgetIfTooLarge()
	}
	return nil
}
