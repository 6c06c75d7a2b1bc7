package verify

import (
	"bytes"
	"context"
	_ "embed"
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

// Snapshot is the tables of one schema at one moment, however long it is looked
// at. Not for concurrent use.
type Snapshot struct {
	store  *store.Store
	tx     pgx.Tx
	tables store.TablesID // that the schema's name leads to
	Schema store.Schema
}

// Freeze freezes the view of the store's schema until Close.
func Freeze(ctx context.Context, s *store.Store) (*Snapshot, error) {
	tx, err := s.Pool().BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	snapshot, err := freezeIn(ctx, s, tx)
	if err != nil {
		_ = tx.Rollback(ctx)
		return nil, err
	}
	return snapshot, nil
}

func freezeIn(ctx context.Context, s *store.Store, tx pgx.Tx) (*Snapshot, error) {
	all, err := store.SchemasIn(ctx, tx)
	if err != nil {
		return nil, err
	}
	schema, err := store.SchemaIn(all, s.Schema())
	if err != nil {
		return nil, err
	}
	tables, err := s.FindTables(ctx, tx)
	return &Snapshot{s, tx, tables, schema}, err
}

// Close ends it.
func (s *Snapshot) Close() { _ = s.tx.Rollback(context.Background()) }

// Positions is up to where the tables hold each partition.
func (s *Snapshot) Positions(ctx context.Context) (map[int]uint64, error) {
	return store.PositionsIn(ctx, s.tx)
}

// OutOfOrder lists the messages that were applied out of the log's order to these
// tables, and the later ones that were applied before.
func (s *Snapshot) OutOfOrder(ctx context.Context) ([]uint64, error) {
	return store.OutOfOrder(ctx, s.tx, s.store.Schema())
}

// Difference is a row that is not what it should be.
type Difference struct {
	Table   string             `json:"table"`
	Key     string             `json:"key"`
	Fault   string             `json:"fault"` // missing, extra or changed
	Columns []ColumnDifference `json:"columns,omitempty"`

	// OutOfOrder: events that were applied out of the log's order explain it.
	OutOfOrder bool `json:"out_of_order,omitempty"`

	first string // value of the key
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

// Compare calls found with every row that differs from the tables of right,
// which nobody writes. Memory stays bounded whatever there is. Where the tables
// are replaced meanwhile, what was found means nothing, and the error says so.
func (s *Snapshot) Compare(ctx context.Context, right *store.Store, rules projections.Rules, found func(Difference)) error {
	other, err := right.Pool().Acquire(ctx)
	if err != nil {
		return fmt.Errorf("connect to the database: %w", err)
	}
	defer other.Release()
	c := comparison{left: s.tx, right: other, found: found, seed: rand.Int64()}
	for _, table := range tables.All {
		name, columns := table.About().Name, table.Columns()
		if table.About().Extra && !slices.Contains(rules.Extras, name) {
			continue
		}
		same, err := c.sameSum(ctx, name, columns)
		if err == nil && !same {
			err = c.walk(ctx, name, columns)
		}
		if err != nil {
			return fmt.Errorf("compare %s: %w", name, err)
		}
	}
	return s.store.CheckTables(ctx, s.tx, s.tables)
}

type comparison struct {
	left  pgx.Tx
	right *pgxpool.Conn
	found func(Difference)
	seed  int64 // nobody can foresee it, and so make two tables look equal
}

// sameSum compares the number of rows and the sum of their hashes.
func (c *comparison) sameSum(ctx context.Context, table string, columns []tables.Column) (bool, error) {
	sql := fmt.Sprintf("select count(*)::text || ' ' || coalesce(sum(hash_record_extended(r, $1)), 0)::text from (select %s from %s) r", tables.ColumnNames(columns), table)
	var left, right string
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() error { return c.left.QueryRow(ctx, sql, c.seed).Scan(&left) })
	both.Go(func() error { return c.right.QueryRow(ctx, sql, c.seed).Scan(&right) })
	err := both.Wait()
	return left == right, err
}

// walk goes through both tables side by side, in the order of their keys.
func (c *comparison) walk(ctx context.Context, table string, columns []tables.Column) error {
	var order []string
	for _, column := range columns {
		if column.Key {
			order = append(order, column.Name+`::text collate "C"`)
		}
	}
	sql := fmt.Sprintf("select %s from %s order by %s", tables.ColumnNames(columns), table, strings.Join(order, ", "))
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
		is, should := values(left, hasLeft), values(right, hasRight)
		switch order := compareKeys(columns, is, should); {
		case order < 0:
			c.found(difference(table, columns, is, Extra, nil))
			hasLeft = left.Next()
		case order > 0:
			c.found(difference(table, columns, should, Missing, nil))
			hasRight = right.Next()
		default:
			if changed := changedColumns(columns, is, should); len(changed) > 0 {
				c.found(difference(table, columns, is, Changed, changed))
			}
			hasLeft, hasRight = left.Next(), right.Next()
		}
	}
	if err := left.Err(); err != nil {
		return err
	}
	return right.Err()
}

func difference(table string, columns []tables.Column, row [][]byte, fault string, changed []ColumnDifference) Difference {
	out := Difference{Table: table, Key: keyText(columns, row), Fault: fault, Columns: changed}
	for i, column := range columns {
		if column.Key {
			out.first = string(row[i])
			break
		}
	}
	return out
}

func values(rows pgx.Rows, has bool) [][]byte {
	if !has {
		return nil
	}
	return rows.RawValues()
}

// compareKeys: a row that is not there comes after all others.
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

// Sums checks the tables against themselves.
func (s *Snapshot) Sums(ctx context.Context) ([]store.SumCheck, error) {
	sums, err := store.CheckSums(ctx, s.tx)
	if err != nil {
		return nil, err
	}
	return sums, s.store.CheckTables(ctx, s.tx, s.tables)
}
