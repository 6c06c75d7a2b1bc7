package export

import (
	"fmt"
	"io"
	"reflect"
	"time"

	"github.com/parquet-go/parquet-go"
)

// rowsPerGroup is how many rows are in memory at a time, compressed. DuckDB's own files have as many in a group.
const rowsPerGroup = 122_880

const timeType = "timestamp with time zone"

// goTypes are the types of the contract's columns, and those of which Parquet makes its columns. A time is the number
// of microseconds since 1970.
var goTypes = map[string]reflect.Type{
	"text": reflect.TypeFor[string](), "bigint": reflect.TypeFor[int64](), "boolean": reflect.TypeFor[bool](),
	timeType: reflect.TypeFor[int64](),
}

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
	fields := make([]reflect.StructField, len(columns))
	for i, column := range columns {
		tag := column.Name
		if column.Nullable {
			tag += ",optional"
		}
		if column.Type == timeType {
			tag += ",timestamp(microsecond:utc)"
		}
		fields[i] = reflect.StructField{
			Name: fmt.Sprint("Column", i), Type: goTypes[column.Type],
			Tag: reflect.StructTag(fmt.Sprintf("parquet:%q", tag)),
		}
	}
	return parquet.SchemaOf(reflect.New(reflect.StructOf(fields)).Interface())
}

func (p *parquetWriter) Write(row []any) error {
	for i, v := range row {
		var to parquet.Value // null
		switch v := v.(type) {
		case string:
			to = parquet.ByteArrayValue([]byte(v))
		case int64:
			to = parquet.Int64Value(v)
		case bool:
			to = parquet.BooleanValue(v)
		case time.Time:
			to = parquet.Int64Value(v.UnixMicro())
		}
		defined := 0
		if p.columns[i].Nullable && v != nil {
			defined = 1
		}
		p.row[i] = to.Level(0, defined, i)
	}
	_, err := p.out.WriteRows([]parquet.Row{p.row})
	return err
}

func (p *parquetWriter) Close() error { return p.out.Close() }
