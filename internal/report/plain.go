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

// name formats an id or key from outside. It quotes text that could be misread.
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

// encodeJSON encodes one object on one line. It escapes the same characters as Clean, as
// \u….
func encodeJSON(value any) ([]byte, error) {
	out, err := marshal(value)
	if err != nil {
		return nil, fmt.Errorf("write JSON: %w", err)
	}
	// Outside of strings JSON is ASCII. The encoder has escaped control characters.
	escaped := strings.Builder{}
	for _, r := range string(out) {
		switch {
		case unicode.IsPrint(r):
			escaped.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&escaped, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&escaped, `\u%04x`, r)
		}
	}
	escaped.WriteByte('\n')
	return []byte(escaped.String()), nil
}

// marshal leaves <, > and & as they are.
func marshal(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimRight(out.Bytes(), "\n"), err
}
