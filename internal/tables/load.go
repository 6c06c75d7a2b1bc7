package tables

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
)

// Load returns the State that the events can touch, every row of it locked.
// Rows are locked in sorted order; rows that do not exist yet are guarded by
// their keys when they are inserted.
//
// Each statement sees what was committed before it began, and two events that
// must see each other always share a row, so whoever waits for a lock here
// reads the other's work in the statements that follow.
func Load(ctx context.Context, tx pgx.Tx, schema string, batch []events.Event) (*projections.State, error) {
	l := Loader{Schema: schema, State: projections.NewState()}
	return l.State, l.Load(ctx, tx, batch)
}

// Loader brings a State to all that the next events can touch.
type Loader struct {
	Schema string
	State  *projections.State
	// Ask returns those names that rows are to be looked for by. It is for tables that
	// nobody else writes; nil: all of them, and the rows are locked.
	Ask func(kind NameKind, names []string) []string
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

// Sender is a connection or a transaction.
type Sender interface {
	SendBatch(ctx context.Context, batch *pgx.Batch) pgx.BatchResults
}

// Load adds to the state what the events can touch.
func (l *Loader) Load(ctx context.Context, from Sender, batch []events.Event) error {
	want := namesIn(batch)
	for at := range steps {
		asked := l.asked(want)
		questions := &pgx.Batch{}
		if at == ofEvents {
			if l.Ask == nil { // else all that is refused came with the new state
				QueuePoison(questions, l.Schema, l.State, batch[0].Seq, batch[len(batch)-1].Seq)
			}
			l.queueSeen(questions, asked(OfEvent))
		}
		for _, t := range All {
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
func (l *Loader) queueSeen(batch *pgx.Batch, ids []string) {
	batch.Queue("select event_id from processed_event where event_id = any($1)", ids).Query(func(rows pgx.Rows) error {
		seen, err := pgx.CollectRows(rows, pgx.RowTo[string])
		for _, id := range seen {
			l.State.Events.Load(id)
		}
		return err
	})
}

// queueLoad asks for the rows that the table's lookups find in this step. What these
// lead to is wanted in the next.
func (t *Table[R]) queueLoad(l *Loader, batch *pgx.Batch, at step, asked func(NameKind) []string, want wanted) {
	tail := ""
	if l.Ask == nil && !t.InsertOnly {
		tail = " order by " + keyNames(t.Columns()) + " for update"
	}
	for _, lookup := range t.lookups {
		if lookup.step != at {
			continue
		}
		var args []any
		if lookup.args != nil {
			args = lookup.args(l.State)
		}
		for _, kind := range lookup.by {
			args = append(args, asked(kind))
		}
		if !slices.ContainsFunc(args, func(names any) bool { return len(names.([]string)) > 0 }) {
			continue
		}
		t.query(batch, lookup.where, tail, args, func(row R) {
			t.put(l.State, row)
			if t.links == nil {
				return
			}
			for _, to := range t.links(&row) {
				want.add(to.kind, to.Name)
			}
		})
	}
}

// QueueAll implements AnyTable.
func (t *Table[R]) QueueAll(batch *pgx.Batch, state *projections.State) {
	t.query(batch, "true", "", nil, func(row R) { t.put(state, row) })
}

func (t *Table[R]) query(batch *pgx.Batch, where, tail string, args []any, each func(R)) {
	sql := fmt.Sprintf("select %s from %s where %s%s", ColumnNames(t.Columns()), t.Name, where, tail)
	batch.Queue(sql, args...).Query(func(rows pgx.Rows) error {
		found, err := pgx.CollectRows(rows, scan[R])
		for _, row := range found {
			each(row)
		}
		return err
	})
}

// QueuePoison asks for the refused events of a part of the log.
func QueuePoison(batch *pgx.Batch, schema string, state *projections.State, from, until uint64) {
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
func (l *Loader) asked(want wanted) func(NameKind) []string {
	lists := map[NameKind][]string{}
	return func(kind NameKind) []string {
		list, done := lists[kind]
		if !done {
			list = want[kind].List()
			if l.Ask != nil {
				list = l.Ask(kind, list)
			}
			lists[kind] = list
		}
		return list
	}
}

// wanted is names, by kind.
type wanted map[NameKind]Set

func (w wanted) add(kind NameKind, name string) {
	if w[kind] == nil {
		w[kind] = Set{}
	}
	w[kind].Add(name)
}

// namesIn lists what some events name.
func namesIn(batch []events.Event) wanted {
	want := wanted{}
	for _, e := range batch {
		EachName(e, want.add)
		if projections.StartsSubscription(e) {
			want.add(ofStart, e.SubscriptionID)
		}
	}
	return want
}

// Set is texts, each once.
type Set map[string]struct{}

// Add adds those that are not empty.
func (s Set) Add(texts ...string) {
	for _, text := range texts {
		if text != "" {
			s[text] = struct{}{}
		}
	}
}

// List is sorted.
func (s Set) List() []string {
	out := make([]string, 0, len(s))
	for text := range s {
		out = append(out, text)
	}
	slices.Sort(out)
	return out
}

// ByKeys is for a transaction that only looks for rows by their keys, many at
// once. While tables fill, Postgres does not know yet how selective that is and
// would read them whole, a thousand times.
const ByKeys = "select set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)"
