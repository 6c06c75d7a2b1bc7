// Package page writes text for a terminal, or JSON, of values that come from outside. It
// escapes everything that a terminal could take for a command.
package page

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"
	"unicode/utf8"
)

// Write writes text for people, or value as one JSON object.
func Write(w io.Writer, asJSON bool, value any, text func(*Page)) error {
	if asJSON {
		return JSON(w, value)
	}
	var p Page
	text(&p)
	_, err := p.text.WriteTo(w)
	return err
}

// Page collects text for people. It cleans all text, so that no caller can forget to.
type Page struct{ text bytes.Buffer }

// Section writes an empty line and a heading.
func (p *Page) Section(format string, args ...any) {
	if p.text.Len() > 0 {
		p.text.WriteByte('\n')
	}
	p.Line(format, args...)
}

// Line writes one line, even if the text has line breaks.
func (p *Page) Line(format string, args ...any) {
	p.text.WriteString(Clean(fmt.Sprintf(format, args...)))
	p.text.WriteByte('\n')
}

// Fields writes pairs of a name and a value, one pair a line. It leaves out pairs without a
// value.
func (p *Page) Fields(pairs ...string) {
	var rows [][]string
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" && pairs[i+1] != "-" {
			rows = append(rows, pairs[i:i+2])
		}
	}
	_ = writeColumns(&p.text, "  ", rows) // a buffer never fails
}

// Table writes an indented table.
func (p *Page) Table(header string, rows [][]string) {
	_ = Table(&p.text, "  ", header, rows) // a buffer never fails
}

// Table writes rows in columns below a header, whose names are separated by commas.
func Table(w io.Writer, indent, header string, rows [][]string) error {
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

// Clean escapes everything that a terminal acts on, as Go does (\x1b, \u202e): control
// characters, characters that change the direction of writing, invalid UTF-8.
func Clean(text string) string {
	if strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }) < 0 {
		return text
	}
	var out strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case unicode.IsPrint(r) && !(r == utf8.RuneError && size == 1):
			out.WriteRune(r)
		default:
			out.WriteString(strings.Trim(strconv.QuoteToGraphic(text[:size]), `"`))
		}
		text = text[size:]
	}
	return out.String()
}
