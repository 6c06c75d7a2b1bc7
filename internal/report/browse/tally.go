package browse

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/report/status"
	"github.com/payfold/payfold/internal/store"
)

// tally counts the messages up to a position. Every message up to the smallest checkpoint is
// applied, and rows of processed_event never change. So a tally stays right while its tablesID is
// that of the tables.
type tally struct {
	tablesID
	position   int64
	groups     map[group]groupCount
	duplicates int64
}

// tablesID changes when rows of a schema may have changed: a promotion replaces its tables, and
// settle replaces rows.
type tablesID struct {
	tables store.TablesID
	rows   store.RowsID
}

// group is what events are counted by. Only rejected events are counted by type.
type group struct{ outcome, reason, eventType string }

type groupCount struct {
	events, oldest int64
	newest         []int64 // sequences of rejected events, the newest first, at most maxNewest
}

// maxNewest is how many events are shown of a group.
const maxNewest = 5

// add returns the sum of two tallies. The second must count later messages.
func (t tally) add(later tally) tally {
	out := tally{t.tablesID, later.position, maps.Clone(t.groups), t.duplicates + later.duplicates}
	if out.groups == nil {
		out.groups = map[group]groupCount{}
	}
	for of, more := range later.groups {
		sum, known := out.groups[of]
		if !known {
			sum.oldest = more.oldest
		}
		sum.events += more.events
		sum.newest = append(slices.Clone(more.newest), sum.newest...)
		sum.newest = sum.newest[:min(len(sum.newest), maxNewest)]
		out.groups[of] = sum
	}
	return out
}

// Totals counts all messages of the log by what became of them, exactly, at one moment.
type Totals struct {
	Moment
	// Counts is nil while the messages are still being counted: after the start, a promotion or
	// settle, and while a partition is far behind the others.
	Counts    *status.EventCounts `json:"counts"`
	CountedTo int64               `json:"counted_to"` // the sequence up to which messages are counted
}

func totals(now Moment, all tally, complete bool) Totals {
	out := Totals{Moment: now, CountedTo: all.position}
	if complete {
		out.Counts = all.counts()
	}
	return out
}

func (t tally) counts() *status.EventCounts {
	sums := map[group]int64{}
	for of, count := range t.groups {
		of.eventType = ""
		sums[of] += count.events
	}
	out := &status.EventCounts{Outcomes: []status.OutcomeCount{}, Duplicates: t.duplicates}
	for of, events := range sums {
		out.Outcomes = append(out.Outcomes, status.OutcomeCount{Outcome: of.outcome, Reason: of.reason, Events: events})
	}
	slices.SortFunc(out.Outcomes, func(a, b status.OutcomeCount) int {
		return cmp.Or(cmp.Compare(a.Outcome, b.Outcome), cmp.Compare(a.Reason, b.Reason))
	})
	return out
}

// counting calls read in a view with the tally of its moment. If complete is false, the tally is
// still being counted, and has only the messages up to its position.
func counting[T any](ctx context.Context, c *Counter, db *store.Store, read func(_ context.Context, _ pgx.Tx, _ Moment, all tally, complete bool) (T, error)) (T, error) {
	known := c.known(db)
	var base, settled tally
	complete := false
	out, err := viewEvents(ctx, db, func(ctx context.Context, tx pgx.Tx, now Moment) (none T, err error) {
		if base, err = known.in(ctx, tx, db); err != nil {
			return none, err
		}
		var head int64
		if err := tx.QueryRow(ctx, lastMessage).Scan(&head); err != nil {
			return none, err
		}
		if complete = head-base.position <= window; !complete {
			return read(ctx, tx, now, base, complete)
		}
		if settled, err = countBetween(ctx, tx, base.position, now.Position); err != nil {
			return none, err
		}
		rest, err := countBetween(ctx, tx, settled.position, head)
		if err != nil {
			return none, err
		}
		return read(ctx, tx, now, base.add(settled).add(rest), complete)
	})
	switch {
	case err != nil:
	case complete:
		c.keep(db.Schema(), base, settled)
	default:
		c.start(db.Schema(), countEvents, func(ctx context.Context) error { return c.countAll(ctx, db) })
	}
	return out, err
}

// lastMessage selects the newest message of the tables.
const lastMessage = `select greatest((select max(stream_seq) from processed_event), (select max(stream_seq) from duplicate_event), 0)`

// known returns what was counted before. It must be called before the view that uses it: the
// view's moment must not be an earlier one.
func (c *Counter) known(db *store.Store) tally {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.schema(db.Schema()).tally
}

// in returns the tally if it is of the tables that tx sees, and otherwise an empty tally of these
// tables.
func (t tally) in(ctx context.Context, tx pgx.Tx, db *store.Store) (tally, error) {
	var id tablesID
	var err error
	if id.tables, err = db.FindTables(ctx, tx); err != nil {
		return tally{}, err
	}
	if id.rows, err = store.ReadRowsID(ctx, tx, db.Schema()); err != nil {
		return tally{}, err
	}
	if t.tablesID == id {
		return t, nil
	}
	return tally{tablesID: id}, nil
}

// keep stores base with what was counted after it, unless another page has stored as much already.
func (c *Counter) keep(schema string, base, more tally) {
	c.mu.Lock()
	defer c.mu.Unlock()
	of := c.schema(schema)
	if known := of.tally; known.tablesID == base.tablesID && known.position >= more.position {
		return
	}
	if more.position > base.position {
		of.tally = base.add(more)
	}
}

// countChunk is how many messages one transaction counts in the background. It is bounded because
// a promotion waits for older snapshots.
const countChunk = 4 * window

// countAll counts what the tables have, a chunk a transaction.
func (c *Counter) countAll(ctx context.Context, db *store.Store) error {
	for {
		began, known := time.Now(), c.known(db)
		var base, more tally
		counting, cancel := context.WithTimeout(ctx, c.timeout)
		_, err := viewEvents(counting, db, func(ctx context.Context, tx pgx.Tx, now Moment) (_ Moment, err error) {
			if base, err = known.in(ctx, tx, db); err != nil {
				return now, err
			}
			var first int64 // after the gap, if a log was adopted
			if err := tx.QueryRow(ctx, nextMessage, base.position, now.Position).Scan(&first); err != nil {
				return now, err
			}
			more, err = countBetween(ctx, tx, base.position, min(first+countChunk, now.Position))
			return now, err
		})
		cancel()
		if err != nil || more.position <= base.position {
			return err
		}
		c.keep(db.Schema(), base, more)
		c.results.Add(1)
		if rest(ctx, began) != nil {
			return nil
		}
	}
}

// nextMessage selects the first message after $1, or $2 if there is none.
const nextMessage = `select least((select min(stream_seq) from processed_event where stream_seq > $1),
	(select min(stream_seq) from duplicate_event where stream_seq > $1), $2)`

//go:embed count_events.sql
var countEventsSQL string

//go:embed newest_rejected.sql
var newestRejectedSQL string

// countBetween counts the messages after a position, up to another.
func countBetween(ctx context.Context, tx pgx.Tx, after, upTo int64) (tally, error) {
	out := tally{position: max(after, upTo), groups: map[group]groupCount{}}
	if upTo <= after {
		return out, nil
	}
	rows, _ := tx.Query(ctx, countEventsSQL, after, upTo) // ForEachRow returns its error
	var of group
	var count groupCount
	rejected := false
	_, err := pgx.ForEachRow(rows, []any{&of.outcome, &of.reason, &of.eventType, &count.events, &count.oldest}, func() error {
		out.groups[of] = count
		rejected = rejected || of.outcome == string(projections.Rejected)
		return nil
	})
	if err != nil {
		return out, fmt.Errorf("count events: %w", err)
	}
	if err := tx.QueryRow(ctx, "select count(*) from duplicate_event where stream_seq > $1 and stream_seq <= $2", after, upTo).Scan(&out.duplicates); err != nil {
		return out, fmt.Errorf("count duplicates: %w", err)
	}
	if rejected {
		err = out.readNewest(ctx, tx, after, upTo)
	}
	return out, err
}

func (t *tally) readNewest(ctx context.Context, tx pgx.Tx, after, upTo int64) error {
	rows, _ := tx.Query(ctx, newestRejectedSQL, after, upTo, maxNewest) // ForEachRow returns its error
	of := group{outcome: string(projections.Rejected)}
	var newest []int64
	_, err := pgx.ForEachRow(rows, []any{&of.reason, &of.eventType, &newest}, func() error {
		count := t.groups[of]
		count.newest = slices.Clone(newest)
		t.groups[of] = count
		return nil
	})
	if err != nil {
		return fmt.Errorf("list rejected events: %w", err)
	}
	return nil
}
