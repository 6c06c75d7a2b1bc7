package verify

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
)

// Difference is a row that differs from the row of the new fold.
type Difference struct {
	Table   string             `json:"table"`
	Key     string             `json:"key"`
	Fault   string             `json:"fault"` // missing, extra or changed
	Columns []ColumnDifference `json:"columns,omitempty"`

	// OutOfOrder says that out-of-order events explain the difference.
	OutOfOrder bool `json:"out_of_order,omitempty"`

	first eventName // what the first column of the key names
}

// ColumnDifference is one value of a changed row, as text; nil is null.
type ColumnDifference struct {
	Column string  `json:"column"`
	Is     *string `json:"is"`
	Should *string `json:"should"`
}

// The faults of a row.
const (
	Missing = "missing"
	Extra   = "extra"
	Changed = "changed"
)

// Compare calls found with every row that differs from the tables of right. No process may write
// the tables of right meanwhile. Compare keeps one row of each side in memory. It returns
// store.ErrReplaced if a promotion has replaced the tables. Then the differences are invalid.
func (s *snapshot) Compare(ctx context.Context, right *store.Store, rules projections.Rules, found func(Difference)) error {
	other, err := right.Pool().Acquire(ctx)
	if err != nil {
		return fmt.Errorf("connect to the database: %w", err)
	}
	defer other.Release()
	c := comparison{left: s.tx, right: other, found: found, seed: rand.Int64()}
	for _, table := range tables.All {
		if table.About().Extra && !slices.Contains(rules.Extras, table.About().Name) {
			continue
		}
		same, err := c.sameSum(ctx, table)
		if err == nil && !same {
			err = c.walk(ctx, table)
		}
		if err != nil {
			return fmt.Errorf("compare %s: %w", table.About().Name, err)
		}
	}
	return s.store.CheckTables(ctx, s.tx, s.tables)
}

type comparison struct {
	left  pgx.Tx
	right *pgxpool.Conn
	found func(Difference)
	seed  int64 // of the hashes; random, so that nobody can choose rows with equal sums
}

// sameSum reports whether both tables have the same number of rows and the same sum of
// hashes.
func (c *comparison) sameSum(ctx context.Context, table tables.AnyTable) (bool, error) {
	sql := fmt.Sprintf("select count(*)::text || ' ' || coalesce(sum(hash_record_extended(r, $1)), 0)::text from (select %s from %s) r",
		tables.ColumnNames(table.Columns()), table.About().Name)
	var left, right string
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() error { return c.left.QueryRow(ctx, sql, c.seed).Scan(&left) })
	both.Go(func() error { return c.right.QueryRow(ctx, sql, c.seed).Scan(&right) })
	err := both.Wait()
	return left == right, err
}

// walk reads both tables in the order of their keys and compares them row by row.
func (c *comparison) walk(ctx context.Context, table tables.AnyTable) error {
	columns := table.Columns()
	var order []string
	for _, column := range columns {
		if column.Key {
			order = append(order, column.Name+`::text collate "C"`)
		}
	}
	sql := fmt.Sprintf("select %s from %s order by %s", tables.ColumnNames(columns), table.About().Name, strings.Join(order, ", "))
	left, err := c.left.Query(ctx, sql, pgx.QueryResultFormats{pgx.TextFormatCode})
	if err != nil {
		return err
	}
	defer left.Close()
	right, err := c.right.Query(ctx, sql, pgx.QueryResultFormats{pgx.TextFormatCode})
	if err != nil {
		return err
	}
	defer right.Close()
	hasLeft, hasRight := left.Next(), right.Next()
	for hasLeft || hasRight {
		if err := cmp.Or(left.Err(), right.Err()); err != nil { // otherwise the rest of the other side would be differences
			return err
		}
		is, should := values(left, hasLeft), values(right, hasRight)
		switch order := compareKeys(columns, is, should); {
		case order < 0:
			c.found(difference(table, is, Extra, nil))
			hasLeft = left.Next()
		case order > 0:
			c.found(difference(table, should, Missing, nil))
			hasRight = right.Next()
		default:
			if changed := changedColumns(columns, is, should); len(changed) > 0 {
				c.found(difference(table, is, Changed, changed))
			}
			hasLeft, hasRight = left.Next(), right.Next()
		}
	}
	return cmp.Or(left.Err(), right.Err())
}

func difference(table tables.AnyTable, row [][]byte, fault string, changed []ColumnDifference) Difference {
	about := table.About()
	return Difference{Table: about.Name, Key: keyText(table.Columns(), row), Fault: fault, Columns: changed, first: eventName{about.Key, string(row[0])}}
}

func values(rows pgx.Rows, has bool) [][]byte {
	if !has {
		return nil
	}
	return rows.RawValues()
}

// compareKeys orders two rows by their keys. nil comes after every row.
func compareKeys(columns []tables.Column, left, right [][]byte) int {
	if left == nil || right == nil {
		if left != nil {
			return -1
		}
		return 1
	}
	for i, column := range columns {
		if order := bytes.Compare(left[i], right[i]); column.Key && order != 0 {
			return order
		}
	}
	return 0
}

func changedColumns(columns []tables.Column, is, should [][]byte) []ColumnDifference {
	var out []ColumnDifference
	for i, column := range columns {
		if !bytes.Equal(is[i], should[i]) || (is[i] == nil) != (should[i] == nil) {
			out = append(out, ColumnDifference{column.Name, text(is[i]), text(should[i])})
		}
	}
	return out
}

func text(value []byte) *string {
	if value == nil {
		return nil
	}
	out := string(value)
	return &out
}

func keyText(columns []tables.Column, row [][]byte) string {
	var out []string
	for i, column := range columns {
		if column.Key {
			out = append(out, column.Name+"="+string(row[i]))
		}
	}
	return strings.Join(out, " ")
}
