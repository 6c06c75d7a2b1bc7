package report

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// page collects text for a terminal. It cleans all text, so that no caller can forget to.
type page struct{ text bytes.Buffer }

// section writes an empty line and a heading.
func (p *page) section(format string, args ...any) {
	if p.text.Len() > 0 {
		p.text.WriteByte('\n')
	}
	p.line(format, args...)
}

func (p *page) line(format string, args ...any) {
	p.text.WriteString(Clean(fmt.Sprintf(format, args...)))
	p.text.WriteByte('\n')
}

// fields writes pairs of a name and a value, one pair a line. It leaves out pairs without a
// value.
func (p *page) fields(pairs ...string) {
	var rows [][]string
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" && pairs[i+1] != "-" {
			rows = append(rows, pairs[i:i+2])
		}
	}
	_ = writeColumns(&p.text, "  ", rows) // a buffer takes all
}

func (p *page) table(header string, rows [][]string) {
	_ = writeTable(&p.text, "  ", header, rows) // a buffer takes all
}

// writeTable writes rows in columns below a header, whose names are separated by commas.
func writeTable(w io.Writer, indent, header string, rows [][]string) error {
	return writeColumns(w, indent, append([][]string{strings.Split(header, ",")}, rows...))
}

func writeColumns(w io.Writer, indent string, rows [][]string) error {
	columns := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = Clean(cell)
		}
		fmt.Fprintf(columns, "%s%s\n", indent, strings.Join(cells, "\t"))
	}
	return columns.Flush()
}

// earlier says how many items a list leaves out.
func (p *page) earlier(count int64, what string) {
	if count > 0 {
		p.line("  (%d earlier %s not shown; --limit shows more)", count, what)
	}
}

// at formats a time to the second. JSON has the full precision.
func at(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04:05Z")
}

func digits[N ~int | ~int64 | ~uint64](n N) string { return fmt.Sprint(n) }

func optionalDigits(n *int64) string {
	if n == nil {
		return "-"
	}
	return strconv.FormatInt(*n, 10)
}

func signed(n int64) string { return fmt.Sprintf("%+d", n) }

func count(n int64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// write writes text for people, or one JSON object.
func write(w io.Writer, asJSON bool, value any, text func(*page)) error {
	if asJSON {
		return writeJSON(w, value)
	}
	var p page
	text(&p)
	_, err := p.text.WriteTo(w)
	return err
}
