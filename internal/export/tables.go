package export

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/store"
)

// source is a table or view of the contract, and its key.
type source struct {
	schema string // empty: that of the store
	name   string
	key    []string
}

// sources are what apps and people read. The working tables are not among them. credit_balance and entitlement ask the
// clock; see query.
var sources = []source{
	{name: "subscription", key: []string{"user_id"}},
	{name: "subscription_state", key: []string{"subscription_id"}},
	{name: "entitlement", key: []string{"user_id", "product_key"}},
	{name: "credits", key: []string{"user_id"}},
	{name: "credit_balance", key: []string{"user_id"}},
	{name: "credit_ledger", key: []string{"provider_payment_id", "line"}},
	{name: "credit_grant", key: []string{"provider_payment_id", "part"}},
	{name: "pro_license", key: []string{"user_id"}},
	{name: "payment", key: []string{"provider_payment_id"}},
	{name: "reversal", key: []string{"event_id"}},
	{name: "processed_event", key: []string{"event_id"}},
	{name: "duplicate_event", key: []string{"stream_seq"}},
	{name: "unlisted_product", key: []string{"product"}},
}

// spends are what apps have spent. They are no function of the log.
var spends = []source{
	{schema: store.WalletSchema, name: "spend", key: []string{"key"}},
	{schema: store.WalletSchema, name: "spend_part", key: []string{"key", "number"}},
}

// table is the name of its file without the ending.
func (s source) table() string {
	if s.schema == "" {
		return s.name
	}
	return s.schema + "_" + s.name
}

func (s source) qualified(schema string) string {
	if s.schema != "" {
		schema = s.schema
	}
	return store.Qualified(schema, s.name)
}

// isOurs reports whether an export writes files of that name.
func isOurs(file string) bool {
	if file == manifestName {
		return true
	}
	for _, all := range [][]source{sources, spends} {
		for _, s := range all {
			for _, format := range Formats {
				if file == s.table()+"."+format {
					return true
				}
			}
		}
	}
	return false
}

// Column describes a column of a file.
type Column struct {
	Name     string `json:"name"`
	Type     string `json:"type"` // as Postgres names it
	Nullable bool   `json:"nullable"`
	Comment  string `json:"comment"`
}

//go:embed columns.sql
var columnsSQL string

// columns returns the columns of a table in their order, and the comment on the table.
func (s source) columns(ctx context.Context, tx pgx.Tx, schema string) (columns []Column, comment string, err error) {
	name := s.qualified(schema)
	columns, err = store.Collect(ctx, tx, "read the columns of "+s.name, pgx.RowToStructByPos[Column], columnsSQL,
		name, s.key)
	if err != nil {
		return nil, "", err
	}
	for _, column := range columns {
		if goTypes[column.Type] == nil {
			return nil, "", fmt.Errorf("column %s of %s has the type %s, which an export has no form for",
				column.Name, s.name, column.Type)
		}
	}
	err = tx.QueryRow(ctx, "select coalesce(obj_description(to_regclass($1), 'pg_class'), '')", name).Scan(&comment)
	if err != nil {
		return nil, "", fmt.Errorf("read the comment on %s: %w", s.name, err)
	}
	return columns, comment, nil
}

// query returns the statement that reads all rows in the order of the key, which is the order of bytes for texts and so
// the same on every server. In a view, moment takes the place of the clock.
func (s source) query(
	ctx context.Context, tx pgx.Tx, schema string, columns []Column, moment time.Time,
) (string, error) {
	from := s.qualified(schema)
	if s.name == "entitlement" || s.name == "credit_balance" {
		var definition string
		if err := tx.QueryRow(ctx, "select pg_get_viewdef(to_regclass($1))", from).Scan(&definition); err != nil {
			return "", fmt.Errorf("read the definition of %s: %w", s.name, err)
		}
		at := "'" + moment.Format(time.RFC3339Nano) + "'::timestamptz"
		from = "(" + strings.ReplaceAll(strings.TrimSuffix(definition, ";"), "now()", at) + ") one"
	}
	names, order := make([]string, len(columns)), make([]string, len(s.key))
	types := map[string]string{}
	for i, column := range columns {
		names[i], types[column.Name] = store.Quoted(column.Name), column.Type
	}
	for i, column := range s.key {
		order[i] = store.Quoted(column)
		if types[column] == "text" {
			order[i] += ` collate "C"`
		}
	}
	return fmt.Sprintf("select %s from %s order by %s", strings.Join(names, ", "), from, strings.Join(order, ", ")), nil
}
