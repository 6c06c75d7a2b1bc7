package page

import (
	"bytes"
	jsonv1 "encoding/json"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"io"
	"unicode"
	"unicode/utf16"
)

// JSON writes one object on one line; see Marshal. It escapes the same characters as Clean, as \u….
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

// Marshal encodes a value as encoding/json does, but leaves <, > and & as they are, and a list is never null. A row of a
// table, which is a struct with fields that only have the tag db, is an object of the columns that people read. An empty
// text and the zero time are null there, as in the table. Other fields of such a struct have the tag json.
func Marshal(value any) ([]byte, error) {
	return json.Marshal(value, options)
}

var options = json.JoinOptions(jsonv1.DefaultOptionsV1(), jsontext.EscapeForHTML(false), json.FormatNilSliceAsNull(false),
	json.WithMarshalers(json.MarshalToFunc(marshalRow)))
