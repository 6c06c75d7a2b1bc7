package events

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Bodies as the provider sends them: without spaces, most fields of no use here.
var wire = []string{"checkout", "paid", "refund"}

func wireBody(t testing.TB, name string) []byte {
	t.Helper()
	body, err := os.ReadFile("testdata/wire/" + name + ".json")
	require.NoError(t, err)
	return body
}

func BenchmarkDecode(b *testing.B) {
	for _, name := range wire {
		b.Run(name, func(b *testing.B) {
			m := Message{Seq: 1, Body: wireBody(b, name), ReceivedAt: time.Unix(1767434352, 0)}
			b.SetBytes(int64(len(m.Body)))
			b.ReportAllocs()
			for b.Loop() {
				if Decode(m).Unreadable {
					b.Fatal("the body is not readable")
				}
			}
		})
	}
}
