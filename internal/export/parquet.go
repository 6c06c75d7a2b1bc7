package export

import (
	"fmt"
	"io"
	"reflect"

	"github.com/parquet-go/parquet-go"
)

// rowsPerGroup is how many rows are in memory at a time, compressed. DuckDB's own files have as many in a group.
const rowsPerGroup = 122_880

// parquetWriter writes a file with a column for each of the table's, in the same order.
type parquetWriter struct {
	out     *parquet.GenericWriter[any]
	columns []Column
	row     parquet.Row
}

func newParquet(w io.Writer, columns []Column) *parquetWriter {
	out := parquet.NewGenericWriter[any](w, schemaOf(columns), parquet.Compression(&parquet.Zstd),
		parquet.MaxRowsPerRowGroup(rowsPerGroup), parquet.CreatedBy("payfold", "1", "export"))
	return &parquetWriter{out, columns, make(parquet.Row, len(columns))}
}

// schemaOf makes a struct type of the columns, because a group that is made by hand has its columns in the order of
// their names.
func schemaOf(columns []Column) *parquet.Schema {
	types := map[kind]reflect.Type{
		kindText: reflect.TypeFor[string](), kindNumber: reflect.TypeFor[int64](), kindBool: reflect.TypeFor[bool](),
		kindTime: reflect.TypeFor[int64](),
	}
	fields := make([]reflect.StructField, len(columns))
	for i, column := range columns {
		tag := column.Name
		if column.Nullable {
			tag += ",optional"
		}
		if kinds[column.Type] == kindTime {
			tag += ",timestamp(microsecond:utc)"
		}
		fields[i] = reflect.StructField{
			Name: fmt.Sprint("Column", i), Type: types[kinds[column.Type]],
			Tag: reflect.StructTag(fmt.Sprintf("parquet:%q", tag)),
		}
	}
	return parquet.SchemaOf(reflect.New(reflect.StructOf(fields)).Interface())
}

func (p *parquetWriter) Write(row []value) error {
	for i, v := range row {
		var to parquet.Value // null
		if !v.null {
			switch kinds[p.columns[i].Type] {
			case kindText:
				to = parquet.ByteArrayValue(v.text)
			case kindBool:
				to = parquet.BooleanValue(v.number != 0)
			default:
				to = parquet.Int64Value(v.number)
			}
		}
		defined := 0
		if p.columns[i].Nullable && !v.null {
			defined = 1
		}
		p.row[i] = to.Level(0, defined, i)
	}
	_, err := p.out.WriteRows([]parquet.Row{p.row})
	return err
}

func (p *parquetWriter) Close() error { return p.out.Close() }
