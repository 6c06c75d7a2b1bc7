package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/payfold/payfold/examples"
)

// origin is when the customer of the examples pays first.
var origin = time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)

// values are values of a body by their paths, such as data.object.lines.data.0.quantity. A time is written as the
// provider writes times; nil is null.
type values map[string]any

// body makes a provider's body from its example.
type body struct {
	provider string
	file     string            // the event type of the example
	moved    time.Duration     // by how much later all of it happens
	ids      map[string]string // by the beginning of the ids that they replace, such as sub_
	texts    map[string]string // texts and numbers, by the text in the example
	set      values            // set at last
}

// eventTime is where the time of an event is, and how a provider writes times.
var eventTime = map[string]struct {
	path  string
	write func(time.Time) any
}{
	"stripe": {"created", func(t time.Time) any { return t.Unix() }},
	"paddle": {"occurred_at", func(t time.Time) any { return t.Format("2006-01-02T15:04:05.000000Z") }},
	"creem":  {"created_at", func(t time.Time) any { return t.UnixMilli() }},
}

// make returns the body and the time of its event.
func (b body) make() ([]byte, time.Time) {
	text, err := examples.Bodies.ReadFile(b.provider + "/" + b.file + ".json")
	if err != nil {
		panic(err) // the table of the shop names a file that is not there
	}
	var example any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&example); err != nil {
		panic(fmt.Sprintf("%s/%s: %v", b.provider, b.file, err))
	}
	made := b.replace(example)
	for _, path := range slices.Sorted(maps.Keys(b.set)) {
		value := b.set[path]
		if at, isTime := value.(time.Time); isTime {
			value = eventTime[b.provider].write(at)
		}
		set(made, strings.Split(path, "."), value)
	}
	at := momentOf(made.(map[string]any)[eventTime[b.provider].path])
	return encode(made), at
}

// replace moves the times and replaces the ids and texts in a value of the example.
func (b body) replace(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, inside := range v {
			v[key] = b.replace(inside)
		}
	case []any:
		for i, inside := range v {
			v[i] = b.replace(inside)
		}
	case json.Number:
		if text, ok := b.texts[v.String()]; ok {
			return json.Number(text)
		}
		if at := momentOf(v); !at.IsZero() && len(v) == len("1772359200") {
			return at.Add(b.moved).Unix()
		} else if !at.IsZero() {
			return at.Add(b.moved).UnixMilli()
		}
	case string:
		if text, ok := b.texts[v]; ok {
			return text
		}
		if at, err := time.Parse(time.RFC3339Nano, v); err == nil {
			_, fraction, _ := strings.Cut(strings.TrimSuffix(v, "Z"), ".")
			return at.Add(b.moved).Format("2006-01-02T15:04:05." + strings.Repeat("0", len(fraction)) + "Z")
		}
		if kind, _, isID := strings.Cut(v, "_"); isID && b.ids[kind+"_"] != "" {
			return b.ids[kind+"_"]
		}
	}
	return value
}

// momentOf returns the time that a value is; zero if it is none of these years. A number has seconds or milliseconds.
func momentOf(value any) time.Time {
	text := fmt.Sprint(value)
	if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return at
	}
	switch n, err := strconv.ParseInt(text, 10, 64); {
	case err == nil && len(text) == len("1772359200") && n > 1_600_000_000:
		return time.Unix(n, 0).UTC()
	case err == nil && len(text) == len("1772359200000"):
		return time.UnixMilli(n).UTC()
	}
	return time.Time{}
}

// set sets the value at a path. Objects on the way that are not there are made; elements of lists must be there.
func set(within any, path []string, value any) {
	switch v := within.(type) {
	case []any:
		i, err := strconv.Atoi(path[0])
		if err != nil || i >= len(v) {
			panic(fmt.Sprintf("a list has no element %s", path[0]))
		}
		if len(path) == 1 {
			v[i] = value
			return
		}
		set(v[i], path[1:], value)
	case map[string]any:
		if len(path) == 1 {
			v[path[0]] = value
			return
		}
		if v[path[0]] == nil {
			v[path[0]] = map[string]any{}
		}
		set(v[path[0]], path[1:], value)
	default:
		panic(fmt.Sprintf("nothing is within %v", within))
	}
}

func encode(value any) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		panic(err) // it was read from JSON
	}
	return bytes.TrimSpace(out.Bytes())
}
