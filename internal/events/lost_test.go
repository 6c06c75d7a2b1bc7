package events_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/providers"
)

func TestOnlyAMarkIsTakenForALostMessage(t *testing.T) {
	t.Parallel()
	id, body := events.Lost(7)
	mark := events.Message{Seq: 7, ID: id, Body: body}
	require.True(t, mark.Lost())
	parsed, err := providers.Named(events.OwnEvents).Parse(body, "")
	require.NoError(t, err)
	require.Equal(t, []string{id, events.LostType}, []string{parsed.ID, parsed.Type})
	for name, change := range map[string]func(*events.Message){
		"another sequence": func(m *events.Message) { m.Seq = 8 },
		"another id":       func(m *events.Message) { m.ID = "evt_1" },
		"a provider's":     func(m *events.Message) { m.Signature = "ab" },
		"another body":     func(m *events.Message) { m.Body = []byte(`{}`) },
	} {
		other := mark
		change(&other)
		require.False(t, other.Lost(), name)
	}
}
