package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"reflect"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// copyIn writes new rows with COPY. The binary format has no text to escape,
// and neither side spends time on writing and reading digits.
func copyIn[R any](ctx context.Context, connection *pgconn.PgConn, table string, rows []R) error {
	if len(rows) == 0 {
		return nil
	}
	columns := columnsOf[R]()
	sql := fmt.Sprintf("copy %s (%s) from stdin (format binary)", table, names(columns))
	if _, err := connection.CopyFrom(ctx, newCopyReader(columns, rows), sql); err != nil {
		return fmt.Errorf("copy into %s: %w", table, err)
	}
	return nil
}

// copyReader writes rows in COPY's binary format while it is read, so that
// Postgres takes in some while the next are written.
type copyReader[R any] struct {
	columns []column
	rows    []R          // not written yet
	written bytes.Buffer // and not read yet
}

// rowsAtOnce are written at once: some tens of kilobytes.
const rowsAtOnce = 200

// copyHeader has no flags and no extension.
const copyHeader = "PGCOPY\n\xff\r\n\x00" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00"

func newCopyReader[R any](columns []column, rows []R) *copyReader[R] {
	r := &copyReader[R]{columns: columns, rows: rows}
	r.written.WriteString(copyHeader)
	return r
}

func (r *copyReader[R]) Read(p []byte) (int, error) {
	if r.written.Len() == 0 && len(r.rows) > 0 {
		some := r.rows[:min(rowsAtOnce, len(r.rows))]
		r.rows = r.rows[len(some):]
		r.written.Reset()
		out := appendRows(r.written.AvailableBuffer(), r.columns, some)
		if len(r.rows) == 0 {
			out = binary.BigEndian.AppendUint16(out, 0xffff) // the end
		}
		r.written.Write(out)
	}
	return r.written.Read(p)
}

func appendRows[R any](out []byte, columns []column, rows []R) []byte {
	for i := range rows {
		row := reflect.ValueOf(&rows[i]).Elem()
		out = binary.BigEndian.AppendUint16(out, uint16(len(columns)))
		for _, c := range columns {
			out = appendField(out, row.Field(c.field).Addr().Interface())
		}
	}
	return out
}

// pgEpoch is where Postgres counts its microseconds from.
var pgEpoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()

// appendField writes the length and the bytes of one value; the zero string and
// the zero time are null, as in toSQL.
func appendField(out []byte, field any) []byte {
	switch v := field.(type) {
	case *string:
		if *v != "" {
			return append(binary.BigEndian.AppendUint32(out, uint32(len(*v))), *v...)
		}
	case *time.Time:
		if !v.IsZero() {
			return appendInt(out, v.UnixMicro()-pgEpoch)
		}
	case *int64:
		return appendInt(out, *v)
	case **int64:
		if *v != nil {
			return appendInt(out, **v)
		}
	case *bool:
		out = binary.BigEndian.AppendUint32(out, 1)
		if *v {
			return append(out, 1)
		}
		return append(out, 0)
	}
	return binary.BigEndian.AppendUint32(out, 0xffff_ffff)
}

func appendInt(out []byte, v int64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(out, 8), uint64(v))
}
