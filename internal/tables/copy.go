package tables

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"unsafe"

	"github.com/jackc/pgx/v5"
)

// CopyIn inserts rows with COPY in its binary format, in which no text is escaped and no
// number is written in digits; see Change.AppendInserted. fresh says that this transaction has
// emptied the table; the rows are then written as if the table had been vacuumed.
func CopyIn(ctx context.Context, tx pgx.Tx, table AnyTable, fresh bool, rows ...[]byte) error {
	parts := []io.Reader{bytes.NewReader([]byte(copyHeader))}
	for _, part := range rows {
		parts = append(parts, bytes.NewReader(part))
	}
	parts = append(parts, bytes.NewReader(binary.BigEndian.AppendUint16(nil, 0xffff)))
	name := table.About().Name
	sql := fmt.Sprintf("copy %s (%s) from stdin (format binary, freeze %t)", name, ColumnNames(table.Columns()), fresh)
	if _, err := tx.Conn().PgConn().CopyFrom(ctx, io.MultiReader(parts...), sql); err != nil {
		return fmt.Errorf("copy into %s: %w", name, err)
	}
	return nil
}

// copyHeader begins COPY's binary format: a signature, no flags, no extension.
const copyHeader = "PGCOPY\n\xff\r\n\x00" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00"

func appendRow[R any](out []byte, columns []Column, row *R) []byte {
	out = binary.BigEndian.AppendUint16(out, uint16(len(columns)))
	for i := range columns {
		out = columns[i].append(out, unsafe.Pointer(row))
	}
	return out
}
