package wire

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/payfold/payfold/internal/events"
)

// A restored message reads as the lost one did, from the server as well as from its files, also
// if somebody else wrote that one with headers that mean something to the server or to payfold.
func TestARestoredMessageReadsLikeTheLostOne(t *testing.T) {
	t.Parallel()
	names := rapid.SampledFrom([]string{
		events.HeaderID, events.HeaderSignature, events.HeaderKey, events.HeaderReceivedAt, headerTrace, "Nats-Expected-Stream", "nats-rollup", "Nats-TTL",
		events.HeaderProvider, events.HeaderSource, events.HeaderSigned, events.HeaderForm, headerEventID, headerStoredAt, renamedPrefix + "Nats-Msg-Id", renamedPrefix, "Other",
	})
	values := rapid.SampledFrom([]string{"1", "evt_1", "a b", "2026-01-02T03:04:05.000006Z", "é", "x:y"})
	header := rapid.Custom(func(t *rapid.T) events.Header {
		return events.Header{Name: names.Draw(t, "name"), Value: values.Draw(t, "value")}
	})
	rapid.Check(t, func(t *rapid.T) {
		lost := rapid.SliceOfN(header, 0, 8).Draw(t, "headers")
		// What reads as restored is never in an archive.
		lost = slices.DeleteFunc(lost, func(h events.Header) bool { return h.Name == headerStoredAt && strings.HasPrefix(h.Value, "2026") })
		slices.SortStableFunc(lost, byName)
		stored := time.Unix(0, rapid.Int64Range(0, 4e18).Draw(t, "stored")).UTC()
		body := []byte(`{"id":"evt_1"}`)
		want := events.NewMessage(7, 3, events.NewAttributes(lost), body, stored)

		m := Restored(7, 3, stored, lost, body)
		require.Empty(t, m.Header.Get(events.HeaderID), "the server would look for duplicates")
		for name := range m.Header {
			require.True(t, name == "Nats-Expected-Last-Sequence" || !hasFold(name, serverPrefix), name)
		}
		later := stored.Add(time.Hour)
		got, err := FromServer(7, m.Subject, m.Header, body, later)
		require.NoError(t, err)
		require.Equal(t, want, got)
		list, err := Header{Decoded: m.Header}.List()
		require.NoError(t, err)
		require.Equal(t, lost, append([]events.Header{}, list...))

		block := plainBlock(m.Header)
		got, err = FromFile(7, m.Subject, block, body, later)
		require.NoError(t, err)
		require.Equal(t, want, got)
		list, err = Header{Plain: block}.List()
		require.NoError(t, err)
		require.Equal(t, lost, append([]events.Header{}, list...))
	})
}

// plainBlock returns a header as the server stores it.
func plainBlock(header nats.Header) []byte {
	var out strings.Builder
	out.WriteString("NATS/1.0\r\n")
	for name, list := range header {
		for _, value := range list {
			out.WriteString(name + ": " + value + "\r\n")
		}
	}
	return []byte(out.String() + "\r\n")
}

func TestATimeThatNoRestoreWroteIsNotBelieved(t *testing.T) {
	t.Parallel()
	stored := time.Unix(1, 0).UTC()
	for _, text := range []string{"yesterday", "2026-01-02", "2026-01-02T03:04:05+01:00", "2026-01-02T03:04:05.0Z"} {
		m, err := FromServer(1, Subject(0), nats.Header{headerStoredAt: {text}, events.HeaderID: {"e1"}}, nil, stored)
		require.NoError(t, err)
		require.Equal(t, stored, m.StoredAt, text)
		require.Equal(t, "e1", m.ID)
		list, err := Header{Decoded: nats.Header{headerStoredAt: {text}}}.List()
		require.NoError(t, err)
		require.Len(t, list, 1)
	}
}
