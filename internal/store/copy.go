package store

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"reflect"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// copyIn writes new rows with COPY. The binary format has no text to escape,
// and neither side spends time on writing and reading digits. some appends some
// of the rows, and nothing when there are no more. A fresh table was emptied by this
// transaction; its rows are those of a table that was vacuumed.
func copyIn(ctx context.Context, connection *pgconn.PgConn, table string, columns []column, fresh bool, some func(out []byte) []byte) error {
	first := some([]byte(copyHeader))
	if len(first) == len(copyHeader) {
		return nil
	}
	r := &copyReader{some: some, next: first}
	sql := fmt.Sprintf("copy %s (%s) from stdin (format binary, freeze %t)", table, names(columns), fresh)
	if _, err := connection.CopyFrom(ctx, r, sql); err != nil {
		return fmt.Errorf("copy into %s: %w", table, err)
	}
	return nil
}

// copyAtOnce is about how many bytes of rows are written at once.
const copyAtOnce = 48 << 10

// copyHeader has no flags and no extension.
const copyHeader = "PGCOPY\n\xff\r\n\x00" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00"

// copyReader writes rows in COPY's binary format while it is read, so that
// Postgres takes in some while the next are written.
type copyReader struct {
	some   func(out []byte) []byte
	buffer []byte
	next   []byte // of the buffer, not read yet
	ended  bool
}

func (r *copyReader) Read(p []byte) (int, error) {
	if len(r.next) == 0 {
		if r.ended {
			return 0, io.EOF
		}
		r.buffer = r.some(r.buffer[:0])
		if r.ended = len(r.buffer) == 0; r.ended {
			r.buffer = binary.BigEndian.AppendUint16(r.buffer, 0xffff)
		}
		r.next = r.buffer
	}
	n := copy(p, r.next)
	r.next = r.next[n:]
	return n, nil
}

// someOf appends rows from the first one on.
func someOf[R any](columns []column, rows []R) func(out []byte) []byte {
	return func(out []byte) []byte {
		for end := len(out) + copyAtOnce; len(rows) > 0 && len(out) < end; rows = rows[1:] {
			out = appendRow(out, columns, &rows[0])
		}
		return out
	}
}

func appendRow[R any](out []byte, columns []column, row *R) []byte {
	fields := reflect.ValueOf(row).Elem()
	out = binary.BigEndian.AppendUint16(out, uint16(len(columns)))
	for _, c := range columns {
		out = appendField(out, fields.Field(c.field).Addr().Interface())
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
	return binary.BigEndian.AppendUint32(out, null)
}

func appendInt(out []byte, v int64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(out, 8), uint64(v))
}

// null is the length of a field that is null.
const null = 0xffff_ffff

// valueOf is the row that appendRow wrote.
func valueOf[R any](columns []column, row []byte) (out R) {
	fields := reflect.ValueOf(&out).Elem()
	row, text := row[2:], string(row[2:]) // which all texts share
	for _, c := range columns {
		length := binary.BigEndian.Uint32(row)
		row, text = row[4:], text[4:]
		if length == null {
			continue
		}
		setField(fields.Field(c.field).Addr().Interface(), row[:length], text[:length])
		row, text = row[length:], text[length:]
	}
	return out
}

func setField(field any, value []byte, text string) {
	switch v := field.(type) {
	case *string:
		*v = text
	case *time.Time:
		*v = time.UnixMicro(pgEpoch + int64(binary.BigEndian.Uint64(value))).UTC()
	case *int64:
		*v = int64(binary.BigEndian.Uint64(value))
	case **int64:
		n := int64(binary.BigEndian.Uint64(value))
		*v = &n
	case *bool:
		*v = value[0] != 0
	}
}

// keyEnd is where the first columns of a row end.
func keyEnd(row []byte, columns int) int {
	end := 2
	for range columns {
		if length := binary.BigEndian.Uint32(row[end:]); length != null {
			end += int(length)
		}
		end += 4
	}
	return end
}
