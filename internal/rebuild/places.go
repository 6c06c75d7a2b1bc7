package rebuild

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/rowcache"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
)

// places has the places of the rows of tables without indexes. Places are read back after the rows are written, because
// only Postgres knows where it has put them. The zero value is for empty tables.
type places struct {
	tables map[tables.AnyTable]*rowcache.Places
	files  store.Files // the files of the tables when the places were read
	unread *chunkFiles // the last chunk, if its places are not read yet; nil: none
}

// chunkFiles tells which rows a chunk has written.
type chunkFiles struct {
	before  store.Files             // before it wrote any
	xid     string                  // of its transaction
	written map[tables.AnyTable]int // how many rows; known when it is committed
}

// reader is a connection or a transaction.
type reader interface {
	tables.Beginner
	store.Querier
}

func (p *places) of(table tables.AnyTable, names []string) (found []tables.Place) {
	at := p.tables[table]
	for _, name := range names {
		found = at.Of(name, found)
	}
	slices.SortFunc(found, tables.Place.Compare)
	return slices.Compact(found)
}

func (p *places) size() (size int) {
	for _, one := range p.tables {
		size += one.Size()
	}
	return size
}

// begin returns a chunkFiles, which later tells which rows the transaction has written. The locks of the chunk keep
// other sessions from moving rows. If rows have moved since their places were read, begin reads all places again.
func (p *places) begin(ctx context.Context, tx, reads pgx.Tx) (*chunkFiles, error) {
	c := &chunkFiles{}
	var err error
	if c.before, err = store.FilesOf(ctx, tx); err != nil {
		return nil, err
	}
	if err := tx.QueryRow(ctx, "select pg_current_xact_id()::xid::text").Scan(&c.xid); err != nil {
		return nil, fmt.Errorf("read the id of the transaction: %w", err)
	}
	if p.files != nil && !p.files.Same(c.before) {
		if err := p.readAll(ctx, reads, math.MaxInt, func(string) {}); err != nil {
			return nil, err
		}
	}
	p.files = c.before
	return c, nil
}

// readAll reads the places of all rows, and calls do with each of their names. If the places take more memory than
// limit, p is empty afterwards.
func (p *places) readAll(ctx context.Context, from reader, limit int, do func(name string)) (err error) {
	*p = places{}
	files, err := store.FilesOf(ctx, from)
	if err != nil {
		return err
	}
	fits := true
	for _, t := range named() {
		var all []rowcache.Placed
		others := p.size()
		err := t.EachPlace(ctx, from, tables.AllPages, "", func(place tables.Place, names tables.RowNames) {
			for _, name := range names {
				if name != "" {
					do(name)
				}
			}
			if fits = fits && others+rowcache.PlaceSize*len(all) <= limit; fits {
				all = appendPlaced(all, place, names)
			}
		})
		if err != nil {
			return err
		}
		p.add(t, all)
	}
	if !fits {
		*p = places{}
		return nil
	}
	p.files = files
	return nil
}

// readChunk reads the places of the rows that the last chunk has written, in parallel on all of the connections. It
// returns an error if some of these rows are missing.
func (p *places) readChunk(ctx context.Context, on ...*pgxpool.Conn) error {
	if p.unread == nil {
		return nil
	}
	toRead := make(chan tables.AnyTable, len(tables.All))
	found := map[tables.AnyTable]*[]rowcache.Placed{}
	for _, t := range named() {
		toRead <- t
		found[t] = &[]rowcache.Placed{}
	}
	close(toRead)
	var reading errgroup.Group // without a context: after the first error it would close the other connection
	for _, connection := range on {
		reading.Go(func() (err error) {
			for t := range toRead {
				if *found[t], err = p.unread.read(ctx, connection.Conn(), t); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := reading.Wait(); err != nil {
		return err
	}
	for t, placed := range found {
		p.add(t, *placed)
	}
	p.unread = nil
	return nil
}

// read reads the places of the rows that the chunk has written to a table. Most of them are after the former end of the
// table, or shortly before it. Postgres allocates some pages before it uses them, and fills up other pages.
func (c *chunkFiles) read(ctx context.Context, connection *pgx.Conn, t tables.AnyTable) (found []rowcache.Placed, err error) {
	rows := 0
	some := tables.Pages{From: c.before[t.About().Name].Pages, Until: tables.AllPages.Until}
	for back := uint64(1); ; back *= 16 {
		some.From -= uint32(min(back, uint64(some.From)))
		err := t.EachPlace(ctx, connection, some, c.xid, func(place tables.Place, names tables.RowNames) {
			rows++
			found = appendPlaced(found, place, names)
		})
		switch {
		case err != nil:
			return nil, err
		case rows == c.written[t]:
			return found, nil
		case some.From == 0:
			return nil, fmt.Errorf("%d rows were written to %s, but it has %d of them: somebody else has changed or deleted some", c.written[t], t.About().Name, rows)
		}
		some.Until = some.From
	}
}

func (p *places) add(t tables.AnyTable, placed []rowcache.Placed) {
	if p.tables == nil {
		p.tables = map[tables.AnyTable]*rowcache.Places{}
	}
	if p.tables[t] == nil {
		p.tables[t] = &rowcache.Places{}
	}
	if len(placed) > 0 {
		p.tables[t].Add(slices.Clone(placed)) // without the room that it has grown into
	}
}

func appendPlaced(to []rowcache.Placed, place tables.Place, names tables.RowNames) []rowcache.Placed {
	for i, name := range names {
		if name != "" && !slices.Contains(names[:i], name) {
			to = append(to, rowcache.PlacedAt(place, name))
		}
	}
	return to
}

// named lists the tables in which rows are found by names, large ones before small ones.
func named() (list []tables.AnyTable) {
	for _, t := range slices.Backward(tables.All) {
		if t.FoundByName() {
			list = append(list, t)
		}
	}
	return list
}
