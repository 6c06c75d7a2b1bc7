package page

import (
	"bytes"
	jsonv1 "encoding/json"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"
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

// working has the columns that are for the rules. The views payment and subscription_state do not have them.
var working = map[string]bool{
	"paid": true, "known": true, "joined": true, "lasts": true, "counts_until": true,
	"reversed_by": true, "reversed_seq": true, "facts": true,
}

// marshalRow encodes what pointer points to, if it is a row.
func marshalRow(out *jsontext.Encoder, pointer any) error {
	row := reflect.ValueOf(pointer).Elem()
	if row.Kind() != reflect.Struct || !isRow(row.Type()) {
		return errors.ErrUnsupported
	}
	if err := out.WriteToken(jsontext.BeginObject); err != nil {
		return err
	}
	for _, field := range reflect.VisibleFields(row.Type()) {
		name, shown := nameOf(field)
		if !shown {
			continue
		}
		if err := out.WriteToken(jsontext.String(name)); err != nil {
			return err
		}
		cell := row.FieldByIndex(field.Index).Interface()
		if t, is := cell.(time.Time); cell == "" || is && t.IsZero() {
			cell = nil
		}
		if err := json.MarshalEncode(out, cell); err != nil {
			return err
		}
	}
	return out.WriteToken(jsontext.EndObject)
}

func isRow(of reflect.Type) bool {
	for _, field := range reflect.VisibleFields(of) {
		if field.Tag.Get("db") != "" && field.Tag.Get("json") == "" {
			return true
		}
	}
	return false
}

// nameOf returns the name of a field of a row in JSON.
func nameOf(field reflect.StructField) (name string, shown bool) {
	if name = field.Tag.Get("json"); name != "" {
		return name, name != "-"
	}
	name, _, _ = strings.Cut(field.Tag.Get("db"), ",")
	return name, name != "" && !working[name]
}
