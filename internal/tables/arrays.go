package tables

import (
	"encoding/binary"
	"unsafe"

	"github.com/jackc/pgx/v5/pgtype"
)

// encodedArray is an array in the binary format of Postgres. It is a struct, so that a
// connection without RegisterArrays returns an error.
type encodedArray struct{ binary []byte }

// arrays returns the arguments of unnest. They are encoded here, because the reflection of
// pgx would take longer than everything else that the projector does with a row.
func arrays[R any](columns []Column, rows []R) []any {
	ends := make([]int, len(columns))
	out := make([]byte, 0, arraysSize(columns, rows))
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

// arraysSize returns at least the size of these arrays.
func arraysSize[R any](columns []Column, rows []R) int {
	const length, longestValue = 4, 8 // of a field that is no text
	size := 0
	for i := range columns {
		c := &columns[i]
		size += arrayHeaderSize + len(rows)*length
		if c.kind != kindText {
			size += len(rows) * longestValue
			continue
		}
		for j := range rows {
			size += len(*fieldOf[string](unsafe.Pointer(&rows[j]), c))
		}
	}
	return size
}

// Texts returns texts as an argument of a statement. An empty text is null.
func Texts(texts []string) any { return arrays([]Column{{kind: kindText}}, texts)[0] }

// elementTypes are the types of columns as Postgres numbers them.
var elementTypes = [...]uint32{
	kindText: pgtype.TextOID, kindNumber: pgtype.Int8OID, kindOptional: pgtype.Int8OID,
	kindBool: pgtype.BoolOID, kindTime: pgtype.TimestamptzOID, kindFacts: pgtype.ByteaOID,
}

const arrayHeaderSize = 20

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
