package tables

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"unsafe"

	"github.com/jackc/pgx/v5"
)

// RowEncoder appends the next rows to out in COPY's binary format. When all rows were
// appended, it returns out unchanged.
type RowEncoder func(out []byte) []byte

// CopyIn inserts rows with COPY in its binary format, in which no text is escaped and no
// number is written in digits. fresh says that this transaction has emptied the table;
// the rows are then written as if the table had been vacuumed.
func CopyIn(ctx context.Context, tx pgx.Tx, table AnyTable, fresh bool, encode RowEncoder) error {
	first := encode([]byte(copyHeader))
	if len(first) == len(copyHeader) {
		return nil
	}
	r := &copyReader{encode: encode, unread: first}
	name := table.About().Name
	sql := fmt.Sprintf("copy %s (%s) from stdin (format binary, freeze %t)", name, ColumnNames(table.Columns()), fresh)
	if _, err := tx.Conn().PgConn().CopyFrom(ctx, r, sql); err != nil {
		return fmt.Errorf("copy into %s: %w", name, err)
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

// decodeRow decodes a row of appendRow into an empty struct. text has the same bytes as a string.
// All text columns become parts of it.
func decodeRow[R any](into *R, columns []Column, row []byte, text string) {
	at := 2
	for i := range columns {
		length := binary.BigEndian.Uint32(row[at:])
		at += lengthSize
		if length == null {
			continue
		}
		end := at + int(length)
		columns[i].set(unsafe.Pointer(into), row[at:end], text[at:end])
		at = end
	}
}

// ColumnOf returns the bytes of one column of an encoded row. Columns are counted from 0.
func ColumnOf(row []byte, column int) []byte {
	return row[KeyEnd(row, column)+lengthSize : KeyEnd(row, column+1)]
}

// KeyEnd returns the offset at which the first columns of an encoded row end.
func KeyEnd(row []byte, columns int) int {
	end := 2
	for range columns {
		if length := binary.BigEndian.Uint32(row[end:]); length != null {
			end += int(length)
		}
		end += lengthSize
	}
	return end
}

// lengthSize is how many bytes of length are before each column.
const lengthSize = 4
