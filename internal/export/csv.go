package export

import (
	"bufio"
	"io"
	"strconv"
	"time"
)

// csvTime is RFC 3339 in UTC, with as many digits always, so that texts sort as times.
const csvTime = "2006-01-02T15:04:05.000000Z"

// csvWriter writes RFC 4180. Every text has quotes, so that an empty text differs from null, which is an empty field.
type csvWriter struct {
	out     *bufio.Writer
	columns []Column
	line    []byte
}

func newCSV(w io.Writer, columns []Column) (*csvWriter, error) {
	c := &csvWriter{out: bufio.NewWriter(w), columns: columns}
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

func (c *csvWriter) Write(row []value) error {
	for i, v := range row {
		c.separate(i)
		if v.null {
			continue
		}
		switch kinds[c.columns[i].Type] {
		case kindText:
			c.line = append(c.line, '"')
			for _, b := range v.text {
				if b == '"' {
					c.line = append(c.line, '"')
				}
				c.line = append(c.line, b)
			}
			c.line = append(c.line, '"')
		case kindNumber:
			c.line = strconv.AppendInt(c.line, v.number, 10)
		case kindBool:
			c.line = strconv.AppendBool(c.line, v.number != 0)
		case kindTime:
			c.line = time.UnixMicro(v.number).UTC().AppendFormat(c.line, csvTime)
		}
	}
	return c.endLine()
}

func (c *csvWriter) Close() error { return c.out.Flush() }
