package export

import (
	"bufio"
	"io"
	"strconv"
	"strings"
	"time"
)

// csvTime is RFC 3339 in UTC, with as many digits always, so that texts sort as times.
const csvTime = "2006-01-02T15:04:05.000000Z"

// csvWriter writes RFC 4180. Every text has quotes, so that an empty text differs from null, which is an empty field.
type csvWriter struct {
	out  *bufio.Writer
	line []byte
}

func newCSV(w io.Writer, columns []Column) (*csvWriter, error) {
	c := &csvWriter{out: bufio.NewWriter(w)}
	for i, column := range columns {
		c.separate(i)
		c.line = append(c.line, column.Name...)
	}
	return c, c.endLine()
}

func (c *csvWriter) separate(i int) {
	if i > 0 {
		c.line = append(c.line, ',')
	}
}

func (c *csvWriter) endLine() error {
	_, err := c.out.Write(append(c.line, '\r', '\n'))
	c.line = c.line[:0]
	return err
}

func (c *csvWriter) Write(row []any) error {
	for i, v := range row {
		c.separate(i)
		switch v := v.(type) {
		case string:
			c.line = append(c.line, '"')
			c.line = append(c.line, strings.ReplaceAll(v, `"`, `""`)...)
			c.line = append(c.line, '"')
		case int64:
			c.line = strconv.AppendInt(c.line, v, 10)
		case bool:
			c.line = strconv.AppendBool(c.line, v)
		case time.Time:
			c.line = v.UTC().AppendFormat(c.line, csvTime)
		}
	}
	return c.endLine()
}

func (c *csvWriter) Close() error { return c.out.Flush() }
