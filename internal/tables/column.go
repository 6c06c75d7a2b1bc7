package tables

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"strings"
	"time"
	"unsafe"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/payfold/payfold/internal/projections"
)

// lengthSize is how many bytes of length are before each column.
const lengthSize = 4

// The row structs of package projections name their columns in db tags, so the same code
// loads and saves every table. The empty string and the zero time stand for null: an empty
// text is never stored.

// Column is a column of a table, and the field of the row struct that has its value.
type Column struct {
	Name, sqlType string
	kind          kind
	offset        uintptr // of the field in the row struct
	Key           bool    // it is part of the table's key
}

// kind is the type of a column's field.
type kind int

const (
	kindText kind = iota
	kindNumber
	kindOptional
	kindBool
	kindTime
	kindFacts
)

var (
	kinds = map[reflect.Type]kind{
		reflect.TypeFor[string](): kindText, reflect.TypeFor[int64](): kindNumber, reflect.TypeFor[*int64](): kindOptional,
		reflect.TypeFor[bool](): kindBool, reflect.TypeFor[time.Time](): kindTime, reflect.TypeFor[projections.Facts](): kindFacts,
	}
	sqlTypes = [...]string{kindText: "text", kindNumber: "bigint", kindOptional: "bigint", kindBool: "boolean", kindTime: "timestamptz", kindFacts: "bytea"}
)

// columnsOf reads the fields of a row struct. It panics if no column can hold a field. Any test of
// the table finds that.
func columnsOf[R any]() (columns []Column) {
	t := reflect.TypeFor[R]()
	for i := range t.NumField() {
		field := t.Field(i)
		kind, known := kinds[field.Type]
		if !known {
			panic(fmt.Sprintf("no column type for %s", field.Type))
		}
		name, option, _ := strings.Cut(field.Tag.Get("db"), ",")
		columns = append(columns, Column{
			Name: name, sqlType: sqlTypes[kind], kind: kind, offset: field.Offset, Key: option == "key",
		})
	}
	return columns
}

// ColumnNames lists the names of columns for a statement.
func ColumnNames(columns []Column) string {
	out := make([]string, len(columns))
	for i, c := range columns {
		out[i] = c.Name
	}
	return strings.Join(out, ", ")
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
	case kindFacts:
		if v := *fieldOf[projections.Facts](row, c); len(v) > 0 {
			begin := len(out)
			out = v.Append(append(out, 0, 0, 0, 0))
			binary.BigEndian.PutUint32(out[begin:], uint32(len(out)-begin-lengthSize))
			return out
		}
	}
	return binary.BigEndian.AppendUint32(out, null)
}

func appendInt(out []byte, v int64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(out, 8), uint64(v))
}

// null is the length of a field that is null.
const null = 0xffff_ffff

// set decodes a value in Postgres' binary format into the row's field. text is the same
// bytes as a string.
func (c *Column) set(row unsafe.Pointer, value []byte, text string) error {
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
	case kindFacts:
		facts, err := projections.ReadFacts(string(value))
		if err != nil {
			return fmt.Errorf("column %s: %w", c.Name, err)
		}
		*fieldOf[projections.Facts](row, c) = facts
	}
	return nil
}

// fieldOf returns a pointer to the column's field, whose type is T. A rebuild encodes and
// decodes millions of rows; reflection would take five times as long.
func fieldOf[T any](row unsafe.Pointer, c *Column) *T { return (*T)(unsafe.Add(row, c.offset)) }

// encodedArray is an array in the binary format of Postgres. It is a struct, so that a
// connection without RegisterArrays returns an error.
type encodedArray struct{ binary []byte }

// arrays returns the arguments of unnest. They are encoded here, because the reflection of
// pgx would take longer than everything else that the projector does with a row.
func arrays[R any](columns []Column, rows []R) []any {
	const usualSize = 24 // of a value, with its length
	out := make([]byte, 0, usualSize*len(columns)*len(rows))
	ends := make([]int, len(columns))
	for i := range columns {
		c := &columns[i]
		out = appendArrayHeader(out, elementTypes[c.kind], len(rows))
		for j := range rows {
			out = c.append(out, unsafe.Pointer(&rows[j]))
		}
		ends[i] = len(out)
	}
	args, begin := make([]any, len(columns)), 0
	for i, end := range ends {
		args[i], begin = encodedArray{out[begin:end]}, end
	}
	return args
}

// Texts returns texts as an argument of a statement. An empty text is null.
func Texts(texts []string) any { return arrays([]Column{{kind: kindText}}, texts)[0] }

// elementTypes are the types of columns as Postgres numbers them.
var elementTypes = [...]uint32{
	kindText: pgtype.TextOID, kindNumber: pgtype.Int8OID, kindOptional: pgtype.Int8OID,
	kindBool: pgtype.BoolOID, kindTime: pgtype.TimestamptzOID, kindFacts: pgtype.ByteaOID,
}

func appendArrayHeader(out []byte, elementType uint32, length int) []byte {
	const dimensions, mayHaveNulls, firstIndex = 1, 1, 1
	for _, n := range []uint32{dimensions, mayHaveNulls, elementType, uint32(length), firstIndex} {
		out = binary.BigEndian.AppendUint32(out, n)
	}
	return out
}

// RegisterArrays makes a connection accept the arguments of the statements of this package.
func RegisterArrays(types *pgtype.Map) {
	for _, oid := range []uint32{pgtype.TextArrayOID, pgtype.Int8ArrayOID, pgtype.BoolArrayOID, pgtype.TimestamptzArrayOID, pgtype.ByteaArrayOID} {
		if array, known := types.TypeForOID(oid); known {
			types.RegisterType(&pgtype.Type{Name: array.Name, OID: oid, Codec: arrayCodec{array.Codec}})
		}
	}
}

// arrayCodec also accepts arrays that are encoded already.
type arrayCodec struct{ pgtype.Codec }

func (c arrayCodec) PlanEncode(m *pgtype.Map, oid uint32, format int16, value any) pgtype.EncodePlan {
	if _, encoded := value.(encodedArray); encoded && format == pgtype.BinaryFormatCode {
		return encodedPlan{}
	}
	return c.Codec.PlanEncode(m, oid, format, value)
}

type encodedPlan struct{}

func (encodedPlan) Encode(value any, buffer []byte) ([]byte, error) {
	return append(buffer, value.(encodedArray).binary...), nil
}
