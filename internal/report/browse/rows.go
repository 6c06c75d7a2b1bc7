package browse

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/payfold/payfold/internal/store"
)

const (
	// maxCounted bounds the rows that a list looks at to count those of its filter.
	maxCounted = 10_000
	// rowWindow bounds the rows that a page looks at if no index has those of its filter. They can be scattered over the
	// table.
	rowWindow = 20_000
	// batchRows is how many rows Each reads at once.
	batchRows = 5000
)

// ErrBadPlace means that RowFilter.After is no RowList.Next.
var ErrBadPlace = errors.New("after is next_after of an earlier answer")

// RowFilter selects rows of a list. An empty field selects all. A list ignores the fields that its rows do not have.
type RowFilter struct {
	Status, Product, Kind, Provider string

	Refunded   string    // "yes": some money of the payment went back; "no": none did
	EndsBefore time.Time // the present period ends before it
	From, To   time.Time // the provider's time is From or later, and before To

	After string // RowList.Next of the page before; empty: the first page
}

// RowList is a page of a list of rows. Rows that are added later neither move nor repeat a row of the following pages.
type RowList[R any] struct {
	Moment
	Items []R `json:"items"`

	// Next is RowFilter.After for the next page; empty if this is the last one. A page that looked at the maximum
	// number of rows ends early: then it can have few items, or none, although there are more.
	Next string `json:"next_after"`

	Count   int64 `json:"count"`    // of the rows of the filter, on all pages
	AtLeast bool  `json:"at_least"` // there can be more than Count; they were not counted
}

// Rows is a list of rows. It is safe for concurrent use.
type Rows[R any] struct {
	// walk selects the rows after a place, in order, at most @window.
	walk   func(RowFilter) string
	order  string // of the rows
	filter func(RowFilter, *conditions)

	placeOf func(R) string
	place   func(after string) (pgx.NamedArgs, error) // the inverse
}

// conditions are those of a filter that no index serves.
type conditions struct {
	list []string
	args pgx.NamedArgs
}

func (c *conditions) add(condition, name string, value any) {
	c.list = append(c.list, condition)
	c.args[name] = value
}

// equal adds a condition if the value is not empty.
func (c *conditions) equal(column, value string) {
	if value != "" {
		name := strings.TrimPrefix(column, "w.")
		c.add(column+" = @"+name, name, value)
	}
}

// between adds conditions for the times that are not zero.
func (c *conditions) between(column string, from, to time.Time) {
	if !from.IsZero() {
		c.add(column+" >= @since", "since", from)
	}
	if !to.IsZero() {
		c.add(column+" < @until", "until", to)
	}
}

// Page returns a page of at most limit rows.
func (r *Rows[R]) Page(ctx context.Context, db *store.Store, f RowFilter, limit int) (RowList[R], error) {
	return viewEvents(ctx, db, func(ctx context.Context, tx pgx.Tx, now Moment) (out RowList[R], err error) {
		if out, err = r.read(ctx, tx, f, limit); err != nil {
			return out, err
		}
		out.Moment = now
		out.Count, out.AtLeast, err = r.count(ctx, tx, f)
		return out, err
	})
}

// Each calls do with all rows of the filter, in order, some at a time. All are of one moment. If a promotion replaces
// the tables meanwhile, the error is store.ErrReplaced, and do has rows of the tables before.
func (r *Rows[R]) Each(ctx context.Context, db *store.Store, f RowFilter, do func([]R) error) error {
	return eachPage(ctx, db, func(ctx context.Context, tx pgx.Tx) ([]R, bool, error) {
		page, err := r.read(ctx, tx, f, batchRows)
		f.After = page.Next
		return page.Items, page.Next == "", err
	}, do)
}

// eachPage calls do with each page that next returns, up to the last one. All are of one moment. If a promotion replaces
// the tables meanwhile, the error is store.ErrReplaced, and do has rows of the tables before.
func eachPage[R any](
	ctx context.Context, db *store.Store, next func(context.Context, pgx.Tx) (items []R, last bool, err error), do func([]R) error,
) error {
	begun := false
	_, err := viewEvents(ctx, db, func(ctx context.Context, tx pgx.Tx, _ Moment) (none struct{}, err error) {
		if begun { // do cannot take back what it has
			return none, store.ErrReplaced
		}
		for {
			items, last, err := next(ctx, tx)
			if err != nil {
				return none, err
			}
			begun = true
			if err := do(items); err != nil || last {
				return none, err
			}
		}
	})
	return err
}

func (r *Rows[R]) read(ctx context.Context, tx pgx.Tx, f RowFilter, limit int) (out RowList[R], err error) {
	where, err := r.where(f, f.After)
	if err != nil {
		return out, err
	}
	var last *R
	out.Items, last, err = look(ctx, tx, pgx.RowToStructByName[R], "w.*", r.walk(f), r.order, where, rowWindow, limit)
	if last != nil {
		out.Next = r.placeOf(*last)
	}
	return out, err
}

// look reads those rows of a walk that meet the conditions, at most limit, in the walk's order. The walk selects at
// most @window rows. If some condition is given, look looks at window of them. If there can be more rows, it returns
// the last one that it has looked at or returned.
func look[R any](
	ctx context.Context, tx pgx.Tx, to pgx.RowToFunc[R], columns, walk, order string, where *conditions, window, limit int,
) (items []R, last *R, err error) {
	looked := limit + 1
	if len(where.list) > 0 {
		looked = max(window, looked)
	}
	where.args["window"], where.args["limit"] = looked, limit+1
	sql := fmt.Sprintf(`select * from (
			select %s, %s as fits, row_number() over (order by %s) = @window as is_last from (%s) w) w
		where fits or is_last order by %[3]s limit @limit`, columns, where, order, walk)
	rows, _ := tx.Query(ctx, sql, where.args) // CollectRows returns its error
	_, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (none struct{}, err error) {
		var fits, isLast bool
		item, err := to(lookedAt{row, &fits, &isLast})
		if fits {
			items = append(items, item)
		}
		if isLast { // there can be more
			last = &item
		}
		return none, err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("list rows: %w", err)
	}
	if len(items) > limit {
		items = items[:limit]
		last = &items[limit-1]
	}
	return items, last, nil
}

// lookedAt is a row with two columns more at its end.
type lookedAt struct {
	pgx.CollectableRow
	fits, isLast *bool
}

// FieldDescriptions implements pgx.CollectableRow.
func (r lookedAt) FieldDescriptions() []pgconn.FieldDescription {
	all := r.CollectableRow.FieldDescriptions()
	return all[:len(all)-2]
}

// Scan implements pgx.CollectableRow.
func (r lookedAt) Scan(item ...any) error {
	return r.CollectableRow.Scan(append(item[:len(item):len(item)], r.fits, r.isLast)...)
}

// count counts the rows of the filter among the first maxCounted rows.
func (r *Rows[R]) count(ctx context.Context, tx pgx.Tx, f RowFilter) (count int64, atLeast bool, err error) {
	where, err := r.where(f, "")
	if err != nil {
		return 0, false, err
	}
	where.args["window"] = maxCounted + 1
	err = tx.QueryRow(ctx, fmt.Sprintf("select count(*) filter (where %s), count(*) > %d from (%s) w",
		where, maxCounted, r.walk(f)), where.args).Scan(&count, &atLeast)
	if err != nil {
		return 0, false, fmt.Errorf("count rows: %w", err)
	}
	return count, atLeast, nil
}

func (r *Rows[R]) where(f RowFilter, after string) (*conditions, error) {
	args, err := r.place(after)
	if err != nil {
		return nil, err
	}
	args["status"] = f.Status
	out := &conditions{args: args}
	r.filter(f, out)
	return out, nil
}

// String is the conditions in SQL.
func (c conditions) String() string {
	return strings.Join(append([]string{"true"}, c.list...), " and ")
}
