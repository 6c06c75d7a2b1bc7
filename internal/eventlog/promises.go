package eventlog

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// UnsafeError says which settings let a stream lose, refuse or change events that
// were confirmed. Appends to such a stream are not confirmed, and nothing is projected
// from it. The stream is never changed: its administrator has to.
type UnsafeError struct {
	Settings []string // each with its value and the one it must have
}

func (e *UnsafeError) Error() string {
	return "the stream does not keep every event as it is for ever: " + strings.Join(e.Settings, "; ")
}

// optional are the settings that an administrator may choose: none of them removes,
// refuses or changes an event. Every other one must be as create-stream makes it, also
// those that later versions of NATS bring.
var optional = []string{
	"name", "description", "metadata",
	"num_replicas", "placement", "compression", // see Durability
	"duplicate_window", // an optimisation: Postgres guards
	"first_seq",
	"allow_direct", "mirror_direct", "republish", // others read it too
	"allow_atomic", "allow_batched", // only for who asks for it
}

// checkPromises compares the settings of a stream with those of a new one with as many
// partitions; nil where all that matters is equal.
func checkPromises(have jetstream.StreamConfig, partitions int) error {
	want := StreamConfig{Partitions: partitions}.jetstream()
	h, w := reflect.ValueOf(have), reflect.ValueOf(want)
	var wrong []string
	for i := range h.NumField() {
		name, _, _ := strings.Cut(h.Type().Field(i).Tag.Get("json"), ",")
		is, must := h.Field(i), w.Field(i)
		switch {
		case slices.Contains(optional, name):
		case name == "subjects":
			if !sameSubjects(have.Subjects, want.Subjects) {
				wrong = append(wrong, fmt.Sprintf("subjects are not exactly %s0 to %s%d", subjectPrefix, subjectPrefix, partitions-1))
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

// unlimited: the server takes zero and less for no limit.
func unlimited(value reflect.Value) bool { return value.CanInt() && value.Int() <= 0 }

func sameSubjects(have, want []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(have)), slices.Sorted(slices.Values(want)))
}

// setting is how the server's own tools write the value.
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
