package providers

import (
	"bytes"
	"encoding/json"
	"encoding/json/jsontext"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// Two libraries say what JSON is, and what is in it: jsontext, and encoding/json.

func TestTheDecoderReadsJSONAsTheLibrariesDo(t *testing.T) {
	t.Parallel()
	for _, body := range nastyBodies {
		requireReadAsLibraries(t, []byte(body))
	}
	for _, body := range realBodies(t) {
		requireReadAsLibraries(t, body)
		for i := 0; i < len(body); i += 7 {
			requireReadAsLibraries(t, body[:i])
			requireReadAsLibraries(t, mutant(body, i))
		}
	}
}

// FuzzDecoder does the same with any bytes.
func FuzzDecoder(f *testing.F) {
	for _, body := range nastyBodies {
		f.Add([]byte(body))
	}
	for _, body := range realBodies(f) {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) { requireReadAsLibraries(t, body) })
}

func requireReadAsLibraries(t *testing.T, body []byte) {
	t.Helper()
	if !utf8.Valid(body) || tooDeep(body) {
		return // Parse refuses it before
	}
	want := jsontext.Value(body).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	skipped := &decoder{body: body}
	skipped.skip()
	require.Equal(t, want, !skipped.failed && skipped.atEnd(), "%q", body)
	d := &decoder{body: body}
	got := d.anything()
	require.Equal(t, want, !d.failed && d.atEnd(), "%q", body)
	if !want {
		return
	}
	library := json.NewDecoder(bytes.NewReader(body))
	library.UseNumber()
	var value any
	require.NoError(t, library.Decode(&value))
	require.Equal(t, value, got, "%q", body)
}

// anything reads the current value as encoding/json does.
func (d *decoder) anything() any {
	switch {
	case d.open('{'):
		fields := map[string]any{}
		for d.next() {
			key := string(d.key)
			fields[key] = d.anything()
		}
		return fields
	case d.open('['):
		elements := []any{}
		for d.element() {
			elements = append(elements, d.anything())
		}
		return elements
	}
	raw := d.value()
	if d.failed {
		return nil
	}
	switch raw[0] {
	case '"':
		text, _ := unquote(raw)
		return string(text)
	case 't', 'f':
		return raw[0] == 't'
	case 'n':
		return nil
	}
	return json.Number(raw)
}
