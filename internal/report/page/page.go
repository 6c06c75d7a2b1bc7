// Package page writes text for a terminal, or JSON, of values that come from outside. It
// escapes everything that a terminal could take for a command.
package page

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
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

// Fields writes pairs of a name and a value, one pair a line. It leaves out pairs without a value; see Table.
func (p *Page) Fields(pairs ...any) {
	var rows [][]any
	for pair := range slices.Chunk(pairs, 2) {
		if text := textOf(pair[1]); text != "" && text != noValue {
			rows = append(rows, pair)
		}
	}
	p.columns(rows)
}

// Table writes an indented table. The names of the header are separated by commas. A cell is a text, a number, a time,
// or a pointer to one of these. nil and the zero time are a dash.
func (p *Page) Table(header string, rows [][]any) {
	var names []any
	for name := range strings.SplitSeq(header, ",") {
		names = append(names, name)
	}
	p.columns(append([][]any{names}, rows...))
}

func (p *Page) columns(rows [][]any) {
	columns := tabwriter.NewWriter(&p.text, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = Clean(textOf(cell))
		}
		fmt.Fprintf(columns, "  %s\n", strings.Join(cells, "\t"))
	}
	_ = columns.Flush() // a buffer never fails
}

const noValue = "-"

func textOf(value any) string {
	if v := reflect.ValueOf(value); v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return noValue
		}
		value = v.Elem().Interface()
	}
	if at, is := value.(time.Time); is {
		return cmp.Or(Time(at), noValue)
	}
	return fmt.Sprint(value)
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
