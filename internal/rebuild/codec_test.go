package rebuild

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/payfold/payfold/internal/codec"
	"github.com/payfold/payfold/internal/events"
)

// Every fact comes back, also one that events get later. Only Key does not: nothing reads it any more.
func TestAnEventIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		var written events.Event
		draw(r, reflect.ValueOf(&written).Elem())
		var w codec.Coder
		code(&w, &written)
		w.Out = append(w.Out, "what follows"...)
		var reader eventReader
		reader.read(string(w.Out)) // nothing of an event stays for the next one
		read := reader.read(string(w.Out))
		written.Key = ""
		require.Equal(r, written, *read)
		require.Equal(r, written.Seq, sequence(string(w.Out)))
	})
}

// draw draws any value.
func draw(r *rapid.T, into reflect.Value) {
	switch at := into.Addr().Interface().(type) {
	case *time.Time:
		if rapid.Bool().Draw(r, "a time") {
			*at = time.Unix(rapid.Int64Range(-1<<40, 1<<40).Draw(r, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(r, "nanoseconds")).UTC()
		}
		return
	case *events.Number:
		if rapid.Bool().Draw(r, "a number") {
			*at = events.Number{Value: rapid.Int64().Draw(r, "value"), Present: true, Bad: rapid.Bool().Draw(r, "bad")}
		}
		return
	}
	switch into.Kind() {
	case reflect.String:
		into.SetString(rapid.StringN(0, 5, -1).Draw(r, "text"))
	case reflect.Bool:
		into.SetBool(rapid.Bool().Draw(r, "flag"))
	case reflect.Uint64:
		into.SetUint(rapid.Uint64().Draw(r, "sequence"))
	case reflect.Slice:
		if length := rapid.IntRange(0, 3).Draw(r, "length"); length > 0 {
			into.Set(reflect.MakeSlice(into.Type(), length, length))
		}
		for i := range into.Len() {
			draw(r, into.Index(i))
		}
	case reflect.Struct:
		for i := range into.NumField() {
			draw(r, into.Field(i))
		}
	default:
		r.Fatalf("no way to draw a %s", into.Type())
	}
}
