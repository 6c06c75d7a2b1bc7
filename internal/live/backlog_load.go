package live

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/tables"
)

// load adds the rows that these events can touch and that are not in memory. A name is looked up once: afterwards all of
// its rows are in memory, because no other process adds any.
func (b *backlog) load(ctx context.Context, batch []events.Event) error {
	return pgx.BeginFunc(ctx, b.store.Pool(), func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, tables.PreferIndexes); err != nil {
			return err
		}
		l := tables.Loader{Schema: b.store.Schema(), Rules: b.rules, State: b.state, Filter: b.fresh, Licensed: b.licensed}
		b.licensed = nil
		return l.Load(ctx, tx, batch)
	})
}

// noteLicensed notes the users whose licence can depend on all of their pro payments, because of a row that the last
// batch has made.
func (b *backlog) noteLicensed() {
	b.state.Payments.EachChanged(func(p *projections.Payment, _ bool) {
		if p.Kind == projections.KindPro && p.UserID != "" {
			b.licensed = append(b.licensed, p.UserID)
		}
	})
	b.state.Licenses.EachChanged(func(l *projections.ProLicense, _ bool) {
		if !l.RevokedAt.IsZero() {
			b.licensed = append(b.licensed, l.UserID)
		}
	})
}

// fresh returns the names that were not asked for before, and notes them.
func (b *backlog) fresh(kind tables.NameKind, names []string) (fresh []string) {
	if kind == tables.OfEvent { // all that were asked for are folded
		return slices.DeleteFunc(names, b.state.Events.Has)
	}
	asked := b.asked[kind]
	if asked == nil {
		asked = tables.Set{}
		b.asked[kind] = asked
	}
	before := len(asked)
	for _, name := range names {
		if _, again := asked[name]; !again {
			asked[name] = struct{}{}
			fresh = append(fresh, name)
		}
	}
	b.size += len(asked) - before
	return fresh
}
