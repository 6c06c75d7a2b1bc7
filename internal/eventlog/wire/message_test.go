package wire

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/payfold/payfold/internal/events"
)

// What a delivery says is in the message that readers are given, from the server as well as from its files.
func TestAMessageHasWhatItsDeliveryHas(t *testing.T) {
	t.Parallel()
	stored := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		word := func(name string) string { return rapid.StringMatching(`([!-~]([ -~]{0,60}[!-~])?)?`).Draw(t, name) }
		d := events.Delivery{
			Event: events.Event{ID: "evt_1", Kind: "pro", Type: "order.paid"}, Body: []byte(`{"id":"evt_1"}`),
			Provider: word("provider"), Source: word("source"), Signed: word("signed"), Signature: word("signature"), KeyFingerprint: word("key"),
			ReceivedAt: stored.Add(-time.Second),
		}
		want := events.Message{
			Seq: 7, Partition: d.Event.Partition(8), ID: "evt_1", Body: d.Body, ReceivedAt: d.ReceivedAt, StoredAt: stored,
			Provider: d.Provider, Source: d.Source, Signed: d.Signed, Signature: d.Signature, KeyFingerprint: d.KeyFingerprint,
		}
		m := New(d, "PAYMENTS", 8)
		got, err := FromServer(7, m.Subject, m.Header, m.Data, stored)
		require.NoError(t, err)
		require.Equal(t, want, got)
		got, err = FromFile(7, m.Subject, plainBlock(m.Header), m.Data, stored)
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
}

func TestAMessageInAnotherFormSaysSo(t *testing.T) {
	t.Parallel()
	for text, form := range map[string]events.Form{"": 0, "0": 0, "1": 1, "254": 254, "255": 255, "256": 255, "-1": 255, "sealed": 255} {
		m, err := FromServer(1, Subject(0), nats.Header{events.HeaderForm: {text}}, nil, time.Time{})
		require.NoError(t, err)
		require.Equal(t, form, m.Form, text)
	}
}
