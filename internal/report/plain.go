package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Clean is text without anything that a terminal acts on: control characters,
// marks that turn the direction of writing, broken UTF-8. They are escaped as in
// Go: \x1b, \u202e.
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

// name is an id or key from outside, quoted where it could be read as something else.
func name(text string) string {
	if text == "" {
		return "-"
	}
	if Clean(text) != text || text == "-" || strings.ContainsAny(text, " \"\\,") {
		return strconv.Quote(text)
	}
	return text
}

// writeJSON writes one object on one line.
func writeJSON(w io.Writer, value any) error {
	out, err := encodeJSON(value)
	if err != nil {
		return err
	}
	_, err = w.Write(out)
	return err
}

// encodeJSON is one object on one line, with every character that Clean would
// escape as \u….
func encodeJSON(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, fmt.Errorf("write JSON: %w", err)
	}
	// Outside of strings JSON is ASCII, and its control characters are escaped already.
	escaped := strings.Builder{}
	for _, r := range out.String() {
		switch {
		case r == '\n' || unicode.IsPrint(r):
			escaped.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&escaped, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&escaped, `\u%04x`, r)
		}
	}
	return []byte(escaped.String()), nil
}
