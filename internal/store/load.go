package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
)

// load returns the State that the events can touch, every row of it locked.
// Rows are locked in sorted order; rows that do not exist yet are guarded by
// their keys when they are inserted.
//
// Each statement sees what was committed before it began, and two events that
// must see each other always share a row, so whoever waits for a lock here
// reads the other's work in the statements that follow.
func load(ctx context.Context, tx pgx.Tx, schema string, batch []events.Event) (*projections.State, error) {
	l := loader{schema: schema, state: projections.NewState()}
	return l.state, l.load(ctx, tx, batch)
}

// loader brings a State to all that the next events can touch.
type loader struct {
	schema string
	state  *projections.State
	filter *keyFilter // nil where others write these tables, too: then rows are locked
}

// step is when rows are looked for: the rows of one step have the names for the next.
type step int

const (
	ofEvents step = iota // what the events name themselves
	ofMerged             // the payments that these turned out to be
	ofThose              // subscriptions, and the payments that belong to them
	ofUsers              // what the users have, with the reversals and ledger lines of the payments found before
	steps
)

// sender is a connection or a transaction.
type sender interface {
	SendBatch(ctx context.Context, batch *pgx.Batch) pgx.BatchResults
}

func (l *loader) load(ctx context.Context, from sender, batch []events.Event) error {
	want := namesIn(batch)
	for at := range steps {
		asked := l.asked(want)
		questions := &pgx.Batch{}
		if at == ofEvents {
			if l.filter == nil { // else all that is refused came with the new state
				queuePoison(questions, l.schema, l.state, batch[0].Seq, batch[len(batch)-1].Seq)
			}
			l.queueSeen(questions, asked(ofEvent))
		}
		for _, t := range derived {
			t.queueLoad(l, questions, at, asked, want)
		}
		if questions.Len() == 0 {
			continue
		}
		if err := from.SendBatch(ctx, questions).Close(); err != nil {
			return fmt.Errorf("load the rows (step %d): %w", at, err)
		}
	}
	return nil
}

// queueSeen asks which of the events were seen before.
func (l *loader) queueSeen(batch *pgx.Batch, ids []string) {
	batch.Queue("select event_id from processed_event where event_id = any($1)", ids).Query(func(rows pgx.Rows) error {
		seen, err := pgx.CollectRows(rows, pgx.RowTo[string])
		for _, id := range seen {
			l.state.Events.Load(id)
		}
		return err
	})
}

// queueLoad asks for the rows that the table's lookups find in this step. What these
// lead to is wanted in the next.
func (t *Table[R]) queueLoad(l *loader, batch *pgx.Batch, at step, asked func(nameKind) []string, want wanted) {
	tail := ""
	if l.filter == nil && !t.insertOnly {
		tail = " order by " + keyNames(t.columns()) + " for update"
	}
	for _, lookup := range t.lookups {
		if lookup.step != at {
			continue
		}
		var args []any
		if lookup.args != nil {
			args = lookup.args(l.state)
		}
		for _, kind := range lookup.by {
			args = append(args, asked(kind))
		}
		if !slices.ContainsFunc(args, func(names any) bool { return len(names.([]string)) > 0 }) {
			continue
		}
		t.query(batch, lookup.where, tail, args, func(row R) {
			t.put(l.state, row)
			if t.links == nil {
				return
			}
			for _, to := range t.links(&row) {
				want.add(to.kind, to.name)
			}
		})
	}
}

func (t *Table[R]) queueAll(batch *pgx.Batch, state *projections.State) {
	t.query(batch, "true", "", nil, func(row R) { t.put(state, row) })
}

func (t *Table[R]) query(batch *pgx.Batch, where, tail string, args []any, each func(R)) {
	sql := fmt.Sprintf("select %s from %s where %s%s", names(t.columns()), t.name, where, tail)
	batch.Queue(sql, args...).Query(func(rows pgx.Rows) error {
		found, err := pgx.CollectRows(rows, scan[R])
		for _, row := range found {
			each(row)
		}
		return err
	})
}

// queuePoison asks for the refused events of a part of the log.
func queuePoison(batch *pgx.Batch, schema string, state *projections.State, from, until uint64) {
	batch.Queue("select stream_seq from payfold.poison join payfold.schema_state using (log_id) where schema_name = $1 and stream_seq between $2 and $3",
		schema, int64(from), int64(until)).Query(func(rows pgx.Rows) error {
		poison, err := pgx.CollectRows(rows, pgx.RowTo[int64])
		for _, seq := range poison {
			state.Poison[uint64(seq)] = true
		}
		return err
	})
}

// asked lists the names to look for in one step, by kind.
func (l *loader) asked(want wanted) func(nameKind) []string {
	lists := map[nameKind][]string{}
	return func(kind nameKind) []string {
		list, done := lists[kind]
		if !done {
			list = want[kind].list()
			if l.filter != nil {
				list = l.filter.ask(kind, want[kind])
			}
			lists[kind] = list
		}
		return list
	}
}

// wanted is names, by kind.
type wanted map[nameKind]set

func (w wanted) add(kind nameKind, name string) {
	if w[kind] == nil {
		w[kind] = set{}
	}
	w[kind].add(name)
}

// namesIn lists what some events name.
func namesIn(batch []events.Event) wanted {
	want := wanted{}
	for _, e := range batch {
		eachName(e, want.add)
		if projections.StartsSubscription(e) {
			want.add(ofStart, e.SubscriptionID)
		}
	}
	return want
}

type set map[string]struct{}

func (s set) add(texts ...string) {
	for _, text := range texts {
		if text != "" {
			s[text] = struct{}{}
		}
	}
}

func (s set) list() []string {
	out := make([]string, 0, len(s))
	for text := range s {
		out = append(out, text)
	}
	slices.Sort(out)
	return out
}
