package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/tables"
)

// Files are the files in which Postgres has the rows of tables, by the table's name.
type Files map[string]File

// File is the file of one table.
type File struct {
	Node  uint32 // changes when Postgres rewrites the table, which moves its rows
	Pages uint32
}

// FilesOf returns the files of the tables on search_path.
func FilesOf(ctx context.Context, q Querier) (Files, error) {
	rows, _ := q.Query(ctx, `select name, pg_relation_filenode(name::regclass), pg_relation_size(name::regclass) / current_setting('block_size')::bigint
		from unnest($1::text[]) name`, tables.NameList()) // ForEachRow returns its error
	files := Files{}
	var name string
	var file File
	_, err := pgx.ForEachRow(rows, []any{&name, &file.Node, &file.Pages}, func() error {
		files[name] = file
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for the files of the tables: %w", err)
	}
	return files, nil
}

// Same reports whether the rows of all tables have stayed where they were.
func (f Files) Same(as Files) bool {
	for name, file := range f {
		if as[name].Node != file.Node {
			return false
		}
	}
	return len(f) == len(as)
}
