package providers

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
)

// Bodies as the provider sends them: without spaces, and with many fields that payfold skips.
var wire = []string{"checkout", "paid", "refund"}

func wireBody(t testing.TB, name string) []byte {
	t.Helper()
	body, err := os.ReadFile("testdata/wire/" + name + ".json")
	require.NoError(t, err)
	return body
}

// BenchmarkDecode compares Decode with the standard library, which only checks the same body
// or makes a map of it.
func BenchmarkDecode(b *testing.B) {
	for _, name := range wire {
		m := events.Message{Provider: "provider", Seq: 1, Body: wireBody(b, name), ReceivedAt: time.Unix(1767434352, 0)}
		for _, way := range []struct {
			name string
			read func() bool
		}{
			{"decode", func() bool { return !Decode(m).Unreadable }},
			{"json.Valid", func() bool { return json.Valid(m.Body) }},
			{"json.Unmarshal", func() bool {
				var body map[string]any
				return json.Unmarshal(m.Body, &body) == nil
			}},
		} {
			b.Run(name+"/"+way.name, func(b *testing.B) {
				b.SetBytes(int64(len(m.Body)))
				b.ReportAllocs()
				for b.Loop() {
					if !way.read() {
						b.Fatal("the body is not readable")
					}
				}
			})
		}
	}
}
