package wire

import (
	"reflect"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/payfold/payfold/internal/events"
)

func TestEveryAttributeHasAHeader(t *testing.T) {
	t.Parallel()
	var a attributes
	fields := map[*string]bool{}
	for _, name := range []string{
		events.HeaderID, events.HeaderProvider, events.HeaderSource, events.HeaderSigned, events.HeaderSignature, events.HeaderKey,
		events.HeaderReceivedAt, events.HeaderForm, headerEventID, headerStoredAt,
	} {
		fields[a.field(name)] = true
	}
	require.Len(t, fields, reflect.TypeFor[events.Attributes]().NumField()+reflect.TypeFor[attributes]().NumField()-1)
	require.False(t, fields[nil])
	require.Nil(t, a.field("Other"))
}

// plainAttributes reads a header as the library does, and it reads every header that ingest
// writes.
func TestPlainAttributesAreThoseOfTheLibrary(t *testing.T) {
	t.Parallel()
	written := nats.NewMsg("any")
	for _, field := range [][2]string{
		{events.HeaderID, "evt_1"},
		{events.HeaderSignature, "ab12"},
		{events.HeaderKey, "cd34"},
		{events.HeaderReceivedAt, "2026-01-02T03:04:05.000006Z"},
		{headerTrace, "00-1-2-01"},
		{events.HeaderProvider, "polar"},
		{events.HeaderSource, "pulled"},
		{events.HeaderSigned, "msg_1.1763856000"},
		{events.HeaderForm, "1"},
	} {
		written.Header.Set(field[0], field[1])
	}
	require.Equal(t, "evt_1", attributesOf(written.Header).ID)
	block := "NATS/1.0\r\n"
	for key := range written.Header {
		block += key + ": " + written.Header.Get(key) + "\r\n"
	}
	a, isPlain := plainAttributes(block + "\r\n")
	require.True(t, isPlain)
	require.Equal(t, attributesOf(written.Header), a)

	part := rapid.SampledFrom([]string{
		"NATS/1.0", "\r\n", "\r\n", "\n", "\r", ":", ": ", " ", "\t", "x", events.HeaderID, "nats-msg-id", events.HeaderSignature, events.HeaderKey, events.HeaderReceivedAt, "é",
		events.HeaderProvider, events.HeaderSource, events.HeaderSigned, events.HeaderForm,
		"NATS/1.0\r\n", events.HeaderKey + ": 1\r\n", events.HeaderKey + ":2\r\n", events.HeaderSignature + ": a b \r\n", "Other: 3\r\n", "\r\n\r\n",
	})
	rapid.Check(t, func(r *rapid.T) {
		header := strings.Join(rapid.SliceOf(part).Draw(r, "header"), "")
		a, isPlain := plainAttributes(header)
		if !isPlain || header == "" {
			return
		}
		library, err := nats.DecodeHeadersMsg([]byte(header))
		require.NoError(r, err, "%q", header)
		require.Equal(r, attributesOf(library), a, "%q", header)
	})
}
