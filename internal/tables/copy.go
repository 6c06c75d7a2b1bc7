package tables

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"time"
	"unsafe"

	"github.com/jackc/pgx/v5"
)

// SomeRows appends some of the rows that it has, in COPY's binary format, and
// nothing when there are no more.
type SomeRows func(out []byte) []byte

// CopyIn writes new rows with COPY. The binary format has no text to escape,
// and neither side spends time on writing and reading digits. A fresh table was
// emptied by this transaction; its rows are those of a table that was vacuumed.
func CopyIn(ctx context.Context, tx pgx.Tx, table string, columns []Column, fresh bool, some SomeRows) error {
	first := some([]byte(copyHeader))
	if len(first) == len(copyHeader) {
		return nil
	}
	r := &copyReader{some: some, next: first}
	sql := fmt.Sprintf("copy %s (%s) from stdin (format binary, freeze %t)", table, ColumnNames(columns), fresh)
	if _, err := tx.Conn().PgConn().CopyFrom(ctx, r, sql); err != nil {
		return fmt.Errorf("copy into %s: %w", table, err)
	}
	return nil
}

// CopyAtOnce is about how many bytes of rows are written at once.
const CopyAtOnce = 48 << 10

// copyHeader has no flags and no extension.
const copyHeader = "PGCOPY\n\xff\r\n\x00" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00"

// copyReader writes rows in COPY's binary format while it is read, so that
// Postgres takes in some while the next are written.
type copyReader struct {
	some   SomeRows
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
func someOf[R any](columns []Column, rows []R) SomeRows {
	return func(out []byte) []byte {
		for end := len(out) + CopyAtOnce; len(rows) > 0 && len(out) < end; rows = rows[1:] {
			out = appendRow(out, columns, &rows[0])
		}
		return out
	}
}

// InTurn appends the rows of all parts.
func InTurn(parts []SomeRows) SomeRows {
	return func(out []byte) []byte {
		for ; len(parts) > 0; parts = parts[1:] {
			if more := parts[0](out); len(more) > len(out) {
				return more
			}
		}
		return out
	}
}

func appendRow[R any](out []byte, columns []Column, row *R) []byte {
	out = binary.BigEndian.AppendUint16(out, uint16(len(columns)))
	for i := range columns {
		out = columns[i].append(out, unsafe.Pointer(row))
	}
	return out
}

// pgEpoch is where Postgres counts its microseconds from.
var pgEpoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()

// append writes the length and the bytes of the row's value; the zero string and
// the zero time are null.
func (c *Column) append(out []byte, row unsafe.Pointer) []byte {
	switch c.kind {
	case kindText:
		if v := *fieldOf[string](row, c); v != "" {
			return append(binary.BigEndian.AppendUint32(out, uint32(len(v))), v...)
		}
	case kindTime:
		if v := fieldOf[time.Time](row, c); !v.IsZero() {
			return appendInt(out, v.UnixMicro()-pgEpoch)
		}
	case kindNumber:
		return appendInt(out, *fieldOf[int64](row, c))
	case kindOptional:
		if v := *fieldOf[*int64](row, c); v != nil {
			return appendInt(out, *v)
		}
	case kindBool:
		out = binary.BigEndian.AppendUint32(out, 1)
		if *fieldOf[bool](row, c) {
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
func valueOf[R any](columns []Column, row []byte) (out R) {
	row, texts := row[2:], string(row[2:]) // which all texts share
	for i := range columns {
		length := binary.BigEndian.Uint32(row)
		row, texts = row[4:], texts[4:]
		if length == null {
			continue
		}
		columns[i].set(unsafe.Pointer(&out), row[:length], texts[:length])
		row, texts = row[length:], texts[length:]
	}
	return out
}

// set puts a value in Postgres' binary format; same is the same bytes.
func (c *Column) set(row unsafe.Pointer, value []byte, same string) {
	switch c.kind {
	case kindText:
		*fieldOf[string](row, c) = same
	case kindTime:
		*fieldOf[time.Time](row, c) = time.UnixMicro(pgEpoch + int64(binary.BigEndian.Uint64(value))).UTC()
	case kindNumber:
		*fieldOf[int64](row, c) = int64(binary.BigEndian.Uint64(value))
	case kindOptional:
		n := int64(binary.BigEndian.Uint64(value))
		*fieldOf[*int64](row, c) = &n
	case kindBool:
		*fieldOf[bool](row, c) = value[0] != 0
	}
}

// fieldOf is where a row has the column, whose kind is T. Rebuilds write and read
// millions of rows: reflection would take five times as long.
func fieldOf[T any](row unsafe.Pointer, c *Column) *T { return (*T)(unsafe.Add(row, c.offset)) }

// KeyEnd is where the first columns of a row end.
func KeyEnd(row []byte, columns int) int {
	end := 2
	for range columns {
		if length := binary.BigEndian.Uint32(row[end:]); length != null {
			end += int(length)
		}
		end += 4
	}
	return end
}
