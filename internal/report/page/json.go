package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode"
	"unicode/utf16"
)

// JSON writes one object on one line. It escapes the same characters as Clean, as \u….
func JSON(w io.Writer, value any) error {
	out, err := Marshal(value)
	if err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	// Outside of strings JSON is ASCII. The encoder has escaped control characters.
	var escaped bytes.Buffer
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
	_, err = escaped.WriteTo(w)
	return err
}

// JSONLines writes each item of a list as one object on one line.
func JSONLines[T any](w io.Writer, list []T) error {
	for _, item := range list {
		if err := JSON(w, item); err != nil {
			return err
		}
	}
	return nil
}

// Marshal encodes a part of an object. It leaves <, > and & as they are.
func Marshal(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimRight(out.Bytes(), "\n"), err
}
