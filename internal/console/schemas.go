package console

import (
	"context"
	"net/http"

	"github.com/payfold/payfold/internal/report/browse"
	"github.com/payfold/payfold/internal/store"
)

// tablesOf returns the tables of a schema, such as those of a rebuild; empty: the live ones. The error is
// store.ErrNoSchema if there is no such schema.
func (c *Console) tablesOf(ctx context.Context, schema string) (*store.Store, error) {
	if schema == "" || schema == c.Tables.Schema() {
		return c.Tables, nil
	}
	if _, err := c.Tables.SchemaNamed(ctx, schema); err != nil {
		return nil, err
	}
	return c.Tables.At(schema), nil
}

// ofTables reads a page about the tables that are asked for.
func (c *Console) ofTables(read func(*http.Request, query, *store.Store) (view, error)) func(*http.Request, query) (view, error) {
	return func(r *http.Request, asked query) (view, error) {
		tables, err := c.tablesOf(r.Context(), asked.schema)
		if err != nil {
			return view{}, err
		}
		shown, err := read(r, asked, tables)
		if err == nil && tables != c.Tables {
			shown.moment.Until, shown.moment.UntilAt, err = browse.EndOf(r.Context(), tables)
		}
		return shown, err
	}
}
