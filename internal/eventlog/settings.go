package eventlog

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/payfold/payfold/internal/eventlog/wire"
)

// UnsafeError names the settings with which a stream could lose, refuse or change events.
// Appends to such a stream are not confirmed, and nothing is projected from it. payfold
// does not change the stream; its administrator must.
type UnsafeError struct {
	Settings []string // each with its value and the one it must have
}

func (e *UnsafeError) Error() string {
	return "the stream does not keep every event as it is for ever: " + strings.Join(e.Settings, "; ")
}

// optionalSettings are the settings that an administrator may choose, because none of them
// removes, refuses or changes an event. Every other setting must be as create-stream sets
// it, also settings that later versions of NATS add.
var optionalSettings = []string{
	"name", "description", "metadata",
	"num_replicas", "placement", "compression", // see Durability
	"duplicate_window", // only an optimisation: Postgres finds every duplicate
	"first_seq",
	"allow_direct", "mirror_direct", "republish", // other programs may read the stream too
	"allow_atomic", "allow_batched", // a publisher must ask for these, and payfold does not
}

// checkSettings compares the stream's settings with those of a new stream with the same number
// of partitions, that can be trimmed if this one says so. It returns nil if all settings except
// the optional ones are equal.
func checkSettings(have jetstream.StreamConfig, partitions int) error {
	want := StreamConfig{Partitions: partitions, Trimmable: have.Metadata[metaTrimmable] != ""}.jetstream()
	h, w := reflect.ValueOf(have), reflect.ValueOf(want)
	var wrong []string
	for i := range h.NumField() {
		name, _, _ := strings.Cut(h.Type().Field(i).Tag.Get("json"), ",")
		is, must := h.Field(i), w.Field(i)
		switch {
		case slices.Contains(optionalSettings, name):
		case name == "subjects":
			if !sameSubjects(have.Subjects, want.Subjects) {
				wrong = append(wrong, fmt.Sprintf("subjects are not exactly %s0 to %s%d", wire.SubjectPrefix, wire.SubjectPrefix, partitions-1))
			}
		case unlimited(is) && unlimited(must):
		case !reflect.DeepEqual(is.Interface(), must.Interface()):
			wrong = append(wrong, fmt.Sprintf("%s is %s, must be %s", name, setting(is), setting(must)))
		}
	}
	if wrong == nil {
		return nil
	}
	return &UnsafeError{wrong}
}

// unlimited reports whether the value means "no limit" to the server: zero or less.
func unlimited(value reflect.Value) bool { return value.CanInt() && value.Int() <= 0 }

func sameSubjects(have, want []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(have)), slices.Sorted(slices.Values(want)))
}

// setting formats the value as the server's own tools do.
func setting(value reflect.Value) string {
	if duration, ok := value.Interface().(time.Duration); ok {
		return duration.String()
	}
	text, err := json.Marshal(value.Interface())
	if err != nil {
		return fmt.Sprint(value.Interface())
	}
	return string(text)
}
