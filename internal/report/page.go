package report

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// page collects text for a terminal. Whatever is put on it is cleaned here, so
// that no caller can forget to.
type page struct{ text bytes.Buffer }

// section begins one, after an empty line.
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

// fields are pairs of a name and a value, one pair a line; those without a value are left out.
func (p *page) fields(pairs ...string) {
	var rows [][]string
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" && pairs[i+1] != "-" {
			rows = append(rows, pairs[i:i+2])
		}
	}
	p.rows(rows)
}

// table has a header; the first row is one.
func (p *page) table(header string, rows [][]string) {
	p.rows(append([][]string{strings.Split(header, ",")}, rows...))
}

func (p *page) rows(rows [][]string) {
	columns := tabwriter.NewWriter(&p.text, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = Clean(cell)
		}
		fmt.Fprintf(columns, "  %s\n", strings.Join(cells, "\t"))
	}
	_ = columns.Flush() // to memory
}

// earlier says what a list leaves out.
func (p *page) earlier(count int64, what string) {
	if count > 0 {
		p.line("  (%d earlier %s not shown; --limit shows more)", count, what)
	}
}

// at is a moment to the second; JSON has all of it.
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
