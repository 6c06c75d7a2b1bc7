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

// RowEncoder appends the next rows to out in COPY's binary format. When all rows were
// appended, it returns out unchanged.
type RowEncoder func(out []byte) []byte

// CopyIn inserts rows with COPY in its binary format, in which no text is escaped and no
// number is written in digits. fresh says that this transaction has emptied the table;
// the rows are then written as if the table had been vacuumed.
func CopyIn(ctx context.Context, tx pgx.Tx, table string, columns []Column, fresh bool, encode RowEncoder) error {
	first := encode([]byte(copyHeader))
	if len(first) == len(copyHeader) {
		return nil
	}
	r := &copyReader{encode: encode, unread: first}
	sql := fmt.Sprintf("copy %s (%s) from stdin (format binary, freeze %t)", table, ColumnNames(columns), fresh)
	if _, err := tx.Conn().PgConn().CopyFrom(ctx, r, sql); err != nil {
		return fmt.Errorf("copy into %s: %w", table, err)
	}
	return nil
}

// CopyBufferSize is about how many bytes of rows a RowEncoder appends in one call.
const CopyBufferSize = 48 << 10

// copyHeader begins COPY's binary format: a signature, no flags, no extension.
const copyHeader = "PGCOPY\n\xff\r\n\x00" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00"

// copyReader encodes rows while it is read, so that Postgres inserts some rows while the
// next are encoded.
type copyReader struct {
	encode RowEncoder
	buffer []byte
	unread []byte // the rest of the buffer
	ended  bool
}

func (r *copyReader) Read(p []byte) (int, error) {
	if len(r.unread) == 0 {
		if r.ended {
			return 0, io.EOF
		}
		r.buffer = r.encode(r.buffer[:0])
		if r.ended = len(r.buffer) == 0; r.ended {
			r.buffer = binary.BigEndian.AppendUint16(r.buffer, 0xffff)
		}
		r.unread = r.buffer
	}
	n := copy(p, r.unread)
	r.unread = r.unread[n:]
	return n, nil
}

func encodeRows[R any](columns []Column, rows []R) RowEncoder {
	return func(out []byte) []byte {
		for end := len(out) + CopyBufferSize; len(rows) > 0 && len(out) < end; rows = rows[1:] {
			out = appendRow(out, columns, &rows[0])
		}
		return out
	}
}

// Concat returns an encoder of the rows of all parts, in their order.
func Concat(parts []RowEncoder) RowEncoder {
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

// append appends the length and the bytes of the row's value. The empty string and the
// zero time are null.
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

// decodeRow decodes a row that appendRow has encoded.
func decodeRow[R any](columns []Column, row []byte) (out R) {
	row, texts := row[2:], string(row[2:]) // one string, of which all text columns are parts
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

// set decodes a value in Postgres' binary format into the row's field. text is the same
// bytes as a string.
func (c *Column) set(row unsafe.Pointer, value []byte, text string) {
	switch c.kind {
	case kindText:
		*fieldOf[string](row, c) = text
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

// fieldOf returns a pointer to the column's field, whose type is T. A rebuild encodes and
// decodes millions of rows; reflection would take five times as long.
func fieldOf[T any](row unsafe.Pointer, c *Column) *T { return (*T)(unsafe.Add(row, c.offset)) }

// KeyEnd returns the offset at which the first columns of an encoded row end.
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
